package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// machinesState is the saved state of the machines (docs/specification/extensions.md#spec-3-7). Objects are kept raw,
// so that what nobody here models comes through.
type machinesState struct {
	MachineDeployments map[string]deploymentState `json:"machineDeployments"`
}

type deploymentState struct {
	Replicas    int32             `json:"replicas"`
	MachineSets []json.RawMessage `json:"machineSets"`
	Machines    []json.RawMessage `json:"machines"`
	// MachineClasses are those of the sets and machines, with their Secrets: older ones than the pools have now, too.
	MachineClasses []json.RawMessage `json:"machineClasses"`
}

// restoreWorker brings the machine objects back before anybody acts on them: classes, sets, machines, deployments, and
// only then the machine controller, to which everything looks as if it had always been there. Without a saved state
// it is a reconciliation, and the machine controller finds the machines by their tags.
func (p *Provider) restoreWorker(ctx context.Context, log logr.Logger, obj *extensionsv1alpha1.Worker,
	cluster *contract.Cluster) error {
	pools, err := poolsOf(obj, cluster)
	if err != nil {
		return err
	}
	state := machinesState{}
	if err := reference.Decode(obj.Status.State, &state); err != nil {
		return fmt.Errorf("read the saved machines: %w", err)
	}
	if err := p.deployMachineClasses(ctx, obj, pools); err != nil {
		return err
	}
	replicas := map[string]int32{}
	for _, name := range slices.Sorted(maps.Keys(state.MachineDeployments)) {
		saved := state.MachineDeployments[name]
		if !slices.ContainsFunc(pools, func(pool zonePool) bool { return pool.name == name }) {
			log.Info("The saved machines of a pool that is not wanted any more are left to the machine controller", "deployment",
				name)
			continue
		}
		replicas[name] = saved.Replicas
		done, err := p.restored(ctx, obj.Namespace, name)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		for _, raw := range slices.Concat(saved.MachineClasses, saved.MachineSets, saved.Machines) {
			if err := p.restoreMachineObject(ctx, obj.Namespace, raw); err != nil {
				return err
			}
		}
	}
	if err := p.deployPools(ctx, obj, pools, cluster.Hibernated(), replicas); err != nil {
		return err
	}
	if !cluster.Hibernated() {
		if err := p.wakeMachineController(ctx, obj.Namespace); err != nil {
			return err
		}
	}
	return p.finish(ctx, obj, pools, cluster)
}

// restored says whether a deployment's machines were brought back before: it is made after all of them. From then on
// the machine controller may have ended some; whoever made those anew would make it end others for them.
func (p *Provider) restored(ctx context.Context, namespace, deployment string) (bool, error) {
	err := p.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: deployment}, &machinev1alpha1.MachineDeployment{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read MachineDeployment %q: %w", deployment, err)
	}
	return err == nil, nil
}

// restoreMachineObject creates a saved object unless it is there. Its owner is found by labels: the UIDs it once
// referred to are another seed's.
func (p *Provider) restoreMachineObject(ctx context.Context, namespace string, raw json.RawMessage) error {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return fmt.Errorf("read a saved machine object: %w", err)
	}
	isClassSecret := object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Secret") &&
		object.GetLabels()[constants.GardenerPurpose] == constants.GardenerPurposeMachineClass
	if group := object.GroupVersionKind().Group; group != machinev1alpha1.GroupName && !isClassSecret {
		return fmt.Errorf("restore the saved %s %q: it is of group %q", object.GetKind(), object.GetName(), group)
	}
	kept := metav1.ObjectMeta{Name: object.GetName(), Namespace: namespace, Labels: object.GetLabels(),
		Annotations: object.GetAnnotations()}
	metadata, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&kept)
	if err != nil {
		return fmt.Errorf("restore the saved %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	object.Object["metadata"] = metadata
	delete(object.Object, "status")
	if err := p.Seed.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("restore the saved %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// shallowDelete removes objects without any effect beyond them: their finalizers go first.
func (p *Provider) shallowDelete(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := p.Seed.List(ctx, list, options...); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("shallow-delete %T: it is no object", item)
		}
		err := patch.Object(ctx, p.Seed, object, func() { object.SetFinalizers(nil) })
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		return reference.Discard(ctx, p.Seed, object)
	})
}
