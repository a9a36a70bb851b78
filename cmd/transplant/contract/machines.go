package contract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/sim/contract"
)

// machineControllerName is that of the Deployment by which an extension starts the machine controller of a shoot.
const machineControllerName = "machine-controller"

// machineController of a shoot, which the kit plays while it has replicas. It has no Pods: it is paused.
func machineController(namespace string, replicas int32) *appsv1.Deployment {
	match := map[string]string{"app": machineControllerName}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machineControllerName},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Paused: true, Selector: &metav1.LabelSelector{MatchLabels: match},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: match}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: machineControllerName, Image: "contract-kit"}}}}}}
}

// machineKind is the kind of a machine.
const machineKind = "Machine"

// machineKinds are those that the machine controller acts on, and by which it is started.
var machineKinds = []client.Object{&machinev1alpha1.MachineDeployment{}, &machinev1alpha1.Machine{},
	&appsv1.Deployment{}}

// machines plays the machine controller of the namespace of an object: each MachineDeployment gets a MachineSet and its
// machines, which are ready at once and exist nowhere.
func machines(c client.Client, seed string) func(context.Context, *unstructured.Unstructured) error {
	return func(ctx context.Context, object *unstructured.Unstructured) error {
		if object.GetKind() == "Deployment" && object.GetName() != machineControllerName {
			return nil
		}
		p, err := machinesIn(ctx, c, object.GetNamespace())
		if err == nil {
			p.seed = seed
		}
		if err == nil {
			err = p.free(ctx)
		}
		if err != nil || !p.runs {
			return err
		}
		for i := range p.deployments.Items {
			if d := &p.deployments.Items[i]; d.DeletionTimestamp == nil {
				if err := p.serve(ctx, d); err != nil {
					return fmt.Errorf("make the machines of %q: %w", d.Name, err)
				}
			}
		}
		return p.collect(ctx)
	}
}

// machineObjects of a namespace.
type machineObjects struct {
	client.Client
	runs        bool   // the machine controller has replicas
	seed        string // of which names of new machines have a part: those that are restored have another
	deployments machinev1alpha1.MachineDeploymentList
	sets        machinev1alpha1.MachineSetList
	machines    machinev1alpha1.MachineList
	classes     machinev1alpha1.MachineClassList
}

func machinesIn(ctx context.Context, c client.Client, namespace string) (*machineObjects, error) {
	p := &machineObjects{Client: c}
	controller := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: machineControllerName}, controller)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the machine controller: %w", err)
	}
	p.runs = err == nil && ptr.Deref(controller.Spec.Replicas, 1) > 0
	for _, list := range []client.ObjectList{&p.deployments, &p.sets, &p.machines, &p.classes} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list the machine objects: %w", err)
		}
	}
	return p, nil
}

// free lets machines go that are deleted.
func (p *machineObjects) free(ctx context.Context) error {
	var all []client.Object
	for i := range p.machines.Items {
		if m := &p.machines.Items[i]; p.runs && m.DeletionTimestamp != nil {
			all = append(all, m)
		}
	}
	return discard(ctx, p.Client, all...)
}

// discard objects with their finalizers.
func discard(ctx context.Context, c client.Client, objects ...client.Object) error {
	for _, object := range objects {
		if len(object.GetFinalizers()) > 0 {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
			if err := c.Patch(ctx, object, patch, fieldOwner); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("release %q: %w", object.GetName(), err)
			}
		}
		if err := c.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %q: %w", object.GetName(), err)
		}
	}
	return nil
}

// serve brings the machines of a deployment to the number and the class that it wants.
func (p *machineObjects) serve(ctx context.Context, d *machinev1alpha1.MachineDeployment) error {
	selects, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return fmt.Errorf("read the selector: %w", err)
	}
	set, err := p.setOf(ctx, d, selects)
	if err != nil {
		return err
	}
	var has int32
	for i := range p.machines.Items {
		m := &p.machines.Items[i]
		switch {
		case m.DeletionTimestamp != nil || !selects.Matches(labels.Set(m.Labels)):
		case m.Spec.Class.Name != d.Spec.Template.Spec.Class.Name || has == d.Spec.Replicas:
			if err := discard(ctx, p.Client, m); err != nil {
				return err
			}
		default:
			has++
		}
	}
	for n := 0; has < d.Spec.Replicas; n++ {
		name := fmt.Sprintf("%s-%s-%d", set.Name, hashed(p.seed), n)
		m := &machinev1alpha1.Machine{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: d.Spec.Template.Spec}
		m.Namespace, m.Name = d.Namespace, name
		metav1.SetMetaDataLabel(&m.ObjectMeta, machinev1alpha1.LabelNode, name)
		m.Spec.ProviderID = "kit:///" + name
		if err := controllerutil.SetControllerReference(set, m, p.Scheme()); err != nil {
			return fmt.Errorf("own a machine: %w", err)
		}
		err := p.Create(ctx, m, fieldOwner)
		if client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("make the machine %q: %w", name, err)
		}
		if err == nil {
			has++
		}
	}
	changed := d.DeepCopy()
	changed.Status.ObservedGeneration = d.Generation
	changed.Status.Replicas, changed.Status.UpdatedReplicas = has, has
	changed.Status.ReadyReplicas, changed.Status.AvailableReplicas = has, has
	if err := p.Status().Patch(ctx, changed, client.MergeFrom(d), applierOwner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// setOf a deployment, of its class; it is made if it is missing.
func (p *machineObjects) setOf(ctx context.Context, d *machinev1alpha1.MachineDeployment, selects labels.Selector) (
	*machinev1alpha1.MachineSet, error) {
	class := d.Spec.Template.Spec.Class.Name
	for i := range p.sets.Items {
		if s := &p.sets.Items[i]; selects.Matches(labels.Set(s.Labels)) && s.Spec.Template.Spec.Class.Name == class {
			return s, nil
		}
	}
	set := &machinev1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace,
		Name: d.Name + "-" + hashed(class), Labels: d.Spec.Template.Labels},
		Spec: machinev1alpha1.MachineSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector,
			Template: d.Spec.Template}}
	if err := controllerutil.SetControllerReference(d, set, p.Scheme()); err != nil {
		return nil, fmt.Errorf("own a MachineSet: %w", err)
	}
	err := p.Create(ctx, set, fieldOwner)
	if apierrors.IsAlreadyExists(err) {
		err = p.Get(ctx, client.ObjectKeyFromObject(set), set)
	}
	if err != nil {
		return nil, fmt.Errorf("make the MachineSet: %w", err)
	}
	return set, nil
}

// hashed is a part of a name that is the same for the same text.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// collect removes what belongs to no deployment any more.
func (p *machineObjects) collect(ctx context.Context) error {
	wanted := func(has map[string]string) bool {
		return slices.ContainsFunc(p.deployments.Items, func(d machinev1alpha1.MachineDeployment) bool {
			selects, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
			return d.DeletionTimestamp == nil && (err != nil || selects.Matches(labels.Set(has)))
		})
	}
	var all []client.Object
	for i := range p.sets.Items {
		if s := &p.sets.Items[i]; !wanted(s.Labels) {
			all = append(all, s)
		}
	}
	for i := range p.machines.Items {
		if m := &p.machines.Items[i]; !wanted(m.Labels) {
			all = append(all, m)
		}
	}
	return discard(ctx, p.Client, all...)
}

// removeMachines is what a gardenlet does with the machine objects of a shoot that has left the seed: they go, and
// nothing outside does (docs/specification/migration.md#spec-2-6-1).
func removeMachines(ctx context.Context, c client.Client, namespace string) error {
	// Nobody makes machines anew from here on.
	if err := discard(ctx, c, machineController(namespace, 0)); err != nil {
		return err
	}
	p, err := machinesIn(ctx, c, namespace)
	if err != nil {
		return err
	}
	var all []client.Object
	for i := range p.deployments.Items {
		all = append(all, &p.deployments.Items[i])
	}
	for i := range p.sets.Items {
		all = append(all, &p.sets.Items[i])
	}
	for i := range p.machines.Items {
		all = append(all, &p.machines.Items[i])
	}
	for i := range p.classes.Items {
		all = append(all, &p.classes.Items[i])
	}
	secrets := &corev1.SecretList{}
	if err := c.List(ctx, secrets, client.InNamespace(namespace),
		client.MatchingLabels{constants.GardenerPurpose: constants.GardenerPurposeMachineClass}); err != nil {
		return fmt.Errorf("list the Secrets of machine classes: %w", err)
	}
	for i := range secrets.Items {
		all = append(all, &secrets.Items[i])
	}
	return discard(ctx, c, all...)
}

// machineItems are what a Worker leaves to the gardenlet when it migrates: machine objects and the Secrets of their
// classes.
func (u listing) machineItems(ctx context.Context, at *side) (isOne func(contract.Item) bool, err error) {
	p, err := machinesIn(ctx, at.client, u.namespace)
	if err != nil {
		return nil, err
	}
	return func(item contract.Item) bool {
		return item.Resource == "secrets" && slices.ContainsFunc(p.classes.Items, func(c machinev1alpha1.MachineClass) bool {
			return c.SecretRef != nil && c.SecretRef.Name == item.Name
		}) || slices.Contains(machineResources, item.Resource)
	}, nil
}

var machineResources = []string{"machineclasses.machine.sapcloud.io", "machinedeployments.machine.sapcloud.io",
	"machinesets.machine.sapcloud.io", "machines.machine.sapcloud.io"}

// machinesNow are the machines of a universe, in order: name, provider ID and node.
func (u listing) machinesNow(ctx context.Context, at *side) ([]string, error) {
	list := &machinev1alpha1.MachineList{}
	if err := at.client.List(ctx, list, client.InNamespace(u.namespace)); err != nil {
		return nil, errors.Join(errors.New("list the machines"), err)
	}
	all := []string{}
	for _, m := range list.Items {
		all = append(all, identity(m))
	}
	slices.Sort(all)
	return all, nil
}

func identity(m machinev1alpha1.Machine) string {
	return fmt.Sprintf("%s %s %s", m.Name, m.Spec.ProviderID, m.Labels[machinev1alpha1.LabelNode])
}

// machinesSeen are all that have ever been in a namespace, as they were last, in order.
func machinesSeen(o *observer, namespace string) ([]string, error) {
	all := []string{}
	for name, v := range o.in(namespace) {
		var m machinev1alpha1.Machine
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.object.Object, &m); err != nil {
			return nil, fmt.Errorf("read the machine %q: %w", name, err)
		}
		all = append(all, identity(m))
	}
	slices.Sort(all)
	return all, nil
}
