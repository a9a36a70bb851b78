package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// workers turns worker pools into machine objects, of which the machine controller makes machines. Pools whose nodes
// are updated in place are not supported.
type workers struct{ *program }

var _ actuator[*extensionsv1alpha1.Worker] = workers{}

// poolInZone is one MachineDeployment with its MachineClass. Their names follow from the spec alone, and so are the
// same on every seed.
type poolInZone struct {
	extensionsv1alpha1.WorkerPool
	name, class, zone string
	minimum, maximum  int32
	machine           cloud.Machine
}

func poolsOf(worker *extensionsv1alpha1.Worker) ([]poolInZone, error) {
	given, err := providerStatusOf(worker.Spec.InfrastructureProviderStatus)
	if err != nil {
		return nil, err
	}
	var pools []poolInZone
	for _, pool := range worker.Spec.Pools {
		for i, zone := range pool.Zones {
			part, of := int32(i), int32(len(pool.Zones))
			share := func(number int32) int32 { return (number + of - 1 - part) / of }
			name := fmt.Sprintf("%s-%s-z%d", worker.Namespace, pool.Name, i+1)
			pools = append(pools, poolInZone{
				WorkerPool: pool, name: name, zone: zone,
				// The name of the node agent's Secret changes when nodes must be replaced.
				class:   name + "-" + ptr.Deref(pool.NodeAgentSecretName, "0"),
				minimum: share(pool.Minimum), maximum: share(pool.Maximum),
				machine: cloud.Machine{
					Type: pool.MachineType, Zone: zone, Image: pool.MachineImage.Name + "-" + pool.MachineImage.Version,
					SubnetID: given.Subnets[zone], SecurityGroupIDs: []string{given.SecurityGroup},
				},
			})
		}
	}
	return pools, nil
}

func (w workers) reconcile(ctx context.Context, worker *extensionsv1alpha1.Worker) error {
	pools, err := poolsOf(worker)
	if err != nil {
		return err
	}
	shoot, err := shootOf(ctx, w.Client, worker.Namespace)
	if err != nil {
		return err
	}
	hibernated := shoot.Spec.Hibernation != nil && ptr.Deref(shoot.Spec.Hibernation.Enabled, false)
	for _, pool := range pools {
		if err := w.deployClass(ctx, worker, pool); err != nil {
			return err
		}
	}
	replicas, err := w.restoreMachines(ctx, worker)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		if err := w.deployMachines(ctx, worker, pool, replicas, hibernated); err != nil {
			return err
		}
	}
	if !hibernated {
		if err := w.wakeMachineController(ctx, worker.Namespace); err != nil {
			return err
		}
	}
	if err := patchStatus(ctx, w.Client, worker, func() {
		worker.Status.MachineDeployments = nil
		for _, pool := range pools {
			worker.Status.MachineDeployments = append(worker.Status.MachineDeployments, extensionsv1alpha1.MachineDeployment{
				Name: pool.name, Minimum: pool.minimum, Maximum: pool.maximum, Priority: pool.Priority})
		}
		worker.Status.MachineDeploymentsLastUpdateTime = ptr.To(metav1.Now())
	}); err != nil {
		return err
	}
	if err := w.waitForMachines(ctx, worker.Namespace, pools); err != nil {
		return err
	}
	return w.removeUnwanted(ctx, worker.Namespace, pools)
}

func (w workers) deployClass(ctx context.Context, worker *extensionsv1alpha1.Worker, pool poolInZone) error {
	boot := &corev1.Secret{}
	ref := pool.UserDataSecretRef
	if err := w.Get(ctx, client.ObjectKey{Namespace: worker.Namespace, Name: ref.Name}, boot); err != nil {
		return fmt.Errorf("read the user data of pool %q: %w", pool.Name, err)
	}
	meta := metav1.ObjectMeta{Namespace: worker.Namespace, Name: pool.class}
	secret := &corev1.Secret{ObjectMeta: meta}
	if _, err := controllerutil.CreateOrPatch(ctx, w.Client, secret, func() error {
		metav1.SetMetaDataLabel(&secret.ObjectMeta, constants.GardenerPurpose, constants.GardenerPurposeMachineClass)
		secret.Data = map[string][]byte{"userData": boot.Data[ref.Key]}
		return nil
	}); err != nil {
		return fmt.Errorf("write the Secret of MachineClass %q: %w", pool.class, err)
	}
	spec, err := json.Marshal(pool.machine)
	if err != nil {
		return fmt.Errorf("write the machines of pool %q: %w", pool.Name, err)
	}
	class := &machinev1alpha1.MachineClass{ObjectMeta: meta}
	if _, err := controllerutil.CreateOrPatch(ctx, w.Client, class, func() error {
		class.Provider, class.ProviderSpec = providerType, runtime.RawExtension{Raw: spec}
		class.SecretRef = &corev1.SecretReference{Namespace: meta.Namespace, Name: meta.Name}
		class.NodeTemplate = &machinev1alpha1.NodeTemplate{InstanceType: pool.MachineType, Region: worker.Spec.Region,
			Zone: pool.zone, Capacity: corev1.ResourceList{}}
		if pool.NodeTemplate != nil {
			class.NodeTemplate.Capacity = pool.NodeTemplate.Capacity
		}
		return nil
	}); err != nil {
		return fmt.Errorf("write MachineClass %q: %w", pool.class, err)
	}
	return nil
}

// machineState is what the gardenlet hands to a restore.
type machineState struct {
	MachineDeployments map[string]struct {
		Replicas       int32                       `json:"replicas"`
		MachineSets    []unstructured.Unstructured `json:"machineSets"`
		Machines       []unstructured.Unstructured `json:"machines"`
		MachineClasses []unstructured.Unstructured `json:"machineClasses"`
	} `json:"machineDeployments"`
}

// restoreMachines brings back the machine objects of each MachineDeployment that is not there yet, before anybody acts
// on them. It returns the replicas of those.
func (w workers) restoreMachines(ctx context.Context, worker *extensionsv1alpha1.Worker) (map[string]int32, error) {
	saved, replicas := machineState{}, map[string]int32{}
	if err := read(worker.Status.State, &saved); err != nil {
		return nil, err
	}
	for name, deployment := range saved.MachineDeployments {
		replicas[name] = deployment.Replicas
		err := w.Get(ctx, client.ObjectKey{Namespace: worker.Namespace, Name: name}, &machinev1alpha1.MachineDeployment{})
		if err == nil {
			continue // made after all its machines: they are there
		}
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
		for _, object := range slices.Concat(deployment.MachineClasses, deployment.MachineSets, deployment.Machines) {
			restored := object.DeepCopy()
			unstructured.RemoveNestedField(restored.Object, "status")
			restored.SetResourceVersion("")
			restored.SetUID("")
			restored.SetOwnerReferences(nil) // those of the other seed
			restored.SetNamespace(worker.Namespace)
			if err := w.Create(ctx, restored); err != nil && !apierrors.IsAlreadyExists(err) {
				return nil, fmt.Errorf("restore %s %q: %w", restored.GetKind(), restored.GetName(), err)
			}
		}
	}
	return replicas, nil
}

func (w workers) deployMachines(ctx context.Context, worker *extensionsv1alpha1.Worker, pool poolInZone,
	saved map[string]int32, hibernated bool) error {
	deployment := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: worker.Namespace,
		Name: pool.name}}
	labels := map[string]string{"name": pool.name}
	nodeLabels := map[string]string{constants.WorkerPool: pool.Name, corev1.LabelTopologyZone: pool.zone,
		corev1.LabelInstanceTypeStable: pool.MachineType}
	for key, value := range pool.Labels {
		nodeLabels[key] = value
	}
	if _, err := controllerutil.CreateOrPatch(ctx, w.Client, deployment, func() error {
		replicas := deployment.Spec.Replicas
		if count, restored := saved[pool.name]; restored && deployment.ResourceVersion == "" {
			replicas = count
		}
		if replicas = min(max(replicas, pool.minimum), pool.maximum); hibernated {
			replicas = 0
		}
		metav1.SetMetaDataLabel(&deployment.ObjectMeta, "name", pool.name)
		deployment.Spec.Replicas = replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Strategy = machinev1alpha1.MachineDeploymentStrategy{
			Type: machinev1alpha1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{
				UpdateConfiguration: machinev1alpha1.UpdateConfiguration{
					MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))}},
		}
		deployment.Spec.Template = machinev1alpha1.MachineTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: machinev1alpha1.MachineSpec{
				Class: machinev1alpha1.ClassSpec{APIGroup: machinev1alpha1.GroupName, Kind: machinev1alpha1.MachineClassKind,
					Name: pool.class},
				NodeTemplateSpec: machinev1alpha1.NodeTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: nodeLabels, Annotations: pool.Annotations},
					Spec:       corev1.NodeSpec{Taints: pool.Taints}},
				MachineConfiguration: &machinev1alpha1.MachineConfiguration{},
			},
		}
		return nil
	}); err != nil {
		return fmt.Errorf("write MachineDeployment %q: %w", pool.name, err)
	}
	return nil
}

// wakeMachineController scales the machine controller up, which a restore finds scaled down.
func (w workers) wakeMachineController(ctx context.Context, namespace string) error {
	controller := &unstructured.Unstructured{}
	controller.SetAPIVersion("apps/v1")
	controller.SetKind("Deployment")
	if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "machine-controller"}, controller); err != nil {
		return fmt.Errorf("read the machine controller: %w", err)
	}
	if replicas, _, _ := unstructured.NestedInt64(controller.Object, "spec", "replicas"); replicas > 0 {
		return nil
	}
	patch := client.RawPatch(client.Merge.Type(), []byte(`{"spec":{"replicas":1}}`))
	if err := w.Patch(ctx, controller, patch); err != nil {
		return fmt.Errorf("start the machine controller: %w", err)
	}
	return nil
}

// waitForMachines waits until each pool has the machines that it wants. One that wants none is not observed while the
// shoot is hibernated: its machine controller does not run then.
func (w workers) waitForMachines(ctx context.Context, namespace string, pools []poolInZone) error {
	for _, pool := range pools {
		d := &machinev1alpha1.MachineDeployment{}
		if err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pool.name}, d)
			s := d.Status
			isObserved := s.ObservedGeneration >= d.Generation || d.Spec.Replicas == 0
			return isObserved && s.Replicas == d.Spec.Replicas && s.UpdatedReplicas >= d.Spec.Replicas &&
				s.AvailableReplicas >= d.Spec.Replicas, err
		}); err != nil {
			return fmt.Errorf("wait for the %d machines of MachineDeployment %q, of which %d are available: %w",
				d.Spec.Replicas, pool.name, d.Status.AvailableReplicas, err)
		}
	}
	return nil
}

// removeUnwanted deletes the deployments and classes that no pool wants any more.
func (w workers) removeUnwanted(ctx context.Context, namespace string, pools []poolInZone) error {
	deployments, classes := &machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineClassList{}
	if err := errors.Join(w.List(ctx, deployments, client.InNamespace(namespace)),
		w.List(ctx, classes, client.InNamespace(namespace))); err != nil {
		return fmt.Errorf("list the machine objects: %w", err)
	}
	for _, d := range deployments.Items {
		if !slices.ContainsFunc(pools, func(pool poolInZone) bool { return pool.name == d.Name }) {
			if err := w.discardAndWait(ctx, &d); err != nil {
				return err
			}
		}
	}
	for _, class := range classes.Items {
		if !slices.ContainsFunc(pools, func(pool poolInZone) bool { return pool.class == class.Name }) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: class.Name}}
			if err := errors.Join(discard(ctx, w.Client, secret), discard(ctx, w.Client, &class)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w workers) discardAndWait(ctx context.Context, object client.Object) error {
	if err := discard(ctx, w.Client, object); err != nil {
		return err
	}
	if err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}); err != nil {
		return fmt.Errorf("wait until %T %q is deleted: %w", object, object.GetName(), err)
	}
	return nil
}

// migrate has nothing to do: the gardenlet saves and deletes the machine objects.
func (workers) migrate(context.Context, *extensionsv1alpha1.Worker) error { return nil }

// remove deletes all machines with their objects.
func (w workers) remove(ctx context.Context, worker *extensionsv1alpha1.Worker) error {
	if err := w.wakeMachineController(ctx, worker.Namespace); err != nil {
		return err
	}
	return w.removeUnwanted(ctx, worker.Namespace, nil)
}
