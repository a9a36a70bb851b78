package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// keyUserData is the key of what machines of a class boot with, in the class's Secret.
const keyUserData = "userData"

// deployMachineClasses creates or patches a class and its Secret for each zone of a pool. What new machines boot with
// may change under the same class: machines that run never look at it again.
func (p *Provider) deployMachineClasses(ctx context.Context, obj *extensionsv1alpha1.Worker, pools []zonePool) error {
	boots := map[string][]byte{} // by pool: its zones share it
	for _, pool := range pools {
		userData, read := boots[pool.pool.Name]
		if !read {
			var err error
			if userData, err = p.userData(ctx, obj.Namespace, pool); err != nil {
				return err
			}
			boots[pool.pool.Name] = userData
		}
		meta := metav1.ObjectMeta{Namespace: obj.Namespace, Name: pool.class}
		if err := contract.Deploy(ctx, p.Seed, obj, &corev1.Secret{ObjectMeta: meta}, func(s *corev1.Secret) {
			metav1.SetMetaDataLabel(&s.ObjectMeta, constants.GardenerPurpose, constants.GardenerPurposeMachineClass)
			s.Data = map[string][]byte{keyUserData: userData}
		}); err != nil {
			return err
		}
		class := &machinev1alpha1.MachineClass{ObjectMeta: meta}
		if err := contract.Deploy(ctx, p.Seed, obj, class, func(c *machinev1alpha1.MachineClass) {
			c.Provider = reference.Type
			c.ProviderSpec = *reference.Encode(pool.machine)
			c.SecretRef = &corev1.SecretReference{Namespace: obj.Namespace, Name: pool.class}
			c.CredentialsSecretRef = &corev1.SecretReference{Namespace: obj.Spec.SecretRef.Namespace,
				Name: obj.Spec.SecretRef.Name}
			c.NodeTemplate = &machinev1alpha1.NodeTemplate{
				InstanceType: pool.pool.MachineType, Region: obj.Spec.Region, Zone: pool.zone, Architecture: pool.architecture(),
				Capacity: corev1.ResourceList{},
			}
			if template := pool.pool.NodeTemplate; template != nil {
				c.NodeTemplate.Capacity, c.NodeTemplate.VirtualCapacity = template.Capacity, template.VirtualCapacity
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Provider) userData(ctx context.Context, namespace string, pool zonePool) ([]byte, error) {
	ref := pool.pool.UserDataSecretRef
	secret := &corev1.Secret{}
	if err := p.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, secret); err != nil {
		return nil, fmt.Errorf("read the user data of pool %q: %w", pool.pool.Name, err)
	}
	if len(secret.Data[ref.Key]) == 0 {
		return nil, fmt.Errorf("read the user data of pool %q: secret %q has no key %q", pool.pool.Name, ref.Name, ref.Key)
	}
	return secret.Data[ref.Key], nil
}

// removeUnwanted removes what no pool wants any more: deployments first, and classes only when no machine is of them.
func (p *Provider) removeUnwanted(ctx context.Context, namespace string, pools []zonePool) error {
	left, err := p.removeDeployments(ctx, namespace, func(name string) bool {
		return slices.ContainsFunc(pools, func(pool zonePool) bool { return pool.name == name })
	})
	if err != nil {
		return err
	}
	if left != "" {
		return p.waitForEnds(ctx, namespace, fmt.Sprintf("the deletion of MachineDeployment %q", left))
	}
	unwanted, err := p.classesBut(ctx, namespace, func(name string) bool {
		return slices.ContainsFunc(pools, func(pool zonePool) bool { return pool.class == name })
	})
	if err != nil || len(unwanted) == 0 {
		return err
	}
	inUse, err := p.classesInUse(ctx, namespace)
	if err != nil {
		return err
	}
	return p.removeClasses(ctx, slices.DeleteFunc(unwanted, func(class machinev1alpha1.MachineClass) bool {
		return inUse[class.Name]
	}))
}

func (p *Provider) removeDeployments(ctx context.Context, namespace string, wanted func(string) bool) (left string,
	err error) {
	deployments := &machinev1alpha1.MachineDeploymentList{}
	if err := p.Seed.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		return "", fmt.Errorf("list the MachineDeployments: %w", err)
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; !wanted(d.Name) {
			if err := reference.Discard(ctx, p.Seed, d); err != nil {
				return "", err
			}
			left = d.Name
		}
	}
	return left, nil
}

func (p *Provider) classesInUse(ctx context.Context, namespace string) (map[string]bool, error) {
	used := map[string]bool{}
	machines, sets := &machinev1alpha1.MachineList{}, &machinev1alpha1.MachineSetList{}
	if err := errors.Join(
		p.Seed.List(ctx, machines, client.InNamespace(namespace)),
		p.Seed.List(ctx, sets, client.InNamespace(namespace)),
	); err != nil {
		return nil, fmt.Errorf("list the machines: %w", err)
	}
	for _, machine := range machines.Items {
		used[machine.Spec.Class.Name] = true
	}
	for _, set := range sets.Items {
		used[set.Spec.Template.Spec.Class.Name] = true
	}
	return used, nil
}

// classesBut are the classes of a namespace but for those that are wanted.
func (p *Provider) classesBut(ctx context.Context, namespace string, wanted func(string) bool) (
	[]machinev1alpha1.MachineClass, error) {
	classes := &machinev1alpha1.MachineClassList{}
	if err := p.Seed.List(ctx, classes, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the MachineClasses: %w", err)
	}
	return slices.DeleteFunc(classes.Items, func(class machinev1alpha1.MachineClass) bool {
		return wanted(class.Name)
	}), nil
}

func (p *Provider) removeClasses(ctx context.Context, classes []machinev1alpha1.MachineClass) error {
	for i := range classes {
		class := &classes[i]
		// The Secret first: without its class nobody would know that it is to go.
		if err := reference.Discard(ctx, p.Seed,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: class.Namespace, Name: class.Name}}); err != nil {
			return err
		}
		if err := reference.Discard(ctx, p.Seed, class); err != nil {
			return err
		}
	}
	return nil
}

// forceDeleteWorker removes the machine objects alone. The machines stay behind, for the user to take over.
func (p *Provider) forceDeleteWorker(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.Worker,
	_ *contract.Cluster) error {
	for _, list := range []client.ObjectList{
		&machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineSetList{}, &machinev1alpha1.MachineList{},
		&machinev1alpha1.MachineClassList{},
	} {
		if err := p.shallowDelete(ctx, list, client.InNamespace(obj.Namespace)); err != nil {
			return err
		}
	}
	return p.shallowDelete(ctx, &corev1.SecretList{}, client.InNamespace(obj.Namespace),
		client.MatchingLabels{constants.GardenerPurpose: constants.GardenerPurposeMachineClass})
}
