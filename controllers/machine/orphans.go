package machine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// annotationQuarantine says until when an adopted machine may not be deleted as one too many, RFC3339.
const annotationQuarantine = "transplant.dev/quarantine-until"

// Events records what happened to an object.
type Events interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Orphans looks after machines in the cloud that carry the shoot's tag and that no Machine stands for: created after
// the state was last saved from which this seed restored, for example. They are adopted where a set of their kind
// exists, and never deleted before the quarantine is over; both are events (docs/ownership.md#spec-9-2-machines).
type Orphans struct {
	Control    client.Client
	Cloud      Cloud
	Owner      Owner
	Clock      clock.WithTicker
	Events     Events
	Log        logr.Logger
	Namespace  string
	Quarantine time.Duration
	Every      time.Duration

	mu    sync.Mutex
	since map[string]time.Time // by id: when a machine was first seen that nothing fits
}

// Start looks for orphans until ctx ends. It implements manager.Runnable.
func (o *Orphans) Start(ctx context.Context) error {
	ticker := o.Clock.NewTicker(o.Every)
	defer ticker.Stop()
	for {
		if err := o.Sweep(ctx); err != nil && ctx.Err() == nil {
			o.Log.Error(err, "Orphaned machines were not looked after")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Sweep looks for orphans once, if this seed owns the shoot.
func (o *Orphans) Sweep(ctx context.Context) error {
	if o.Owner.Valid(ctx) != nil {
		return nil
	}
	orphans, err := o.find(ctx)
	if err != nil {
		return err
	}
	sets := &machinev1alpha1.MachineSetList{}
	if err := o.Control.List(ctx, sets, client.InNamespace(o.Namespace)); err != nil {
		return fmt.Errorf("list the MachineSets: %w", err)
	}
	for _, vm := range orphans {
		if set := setFor(vm, sets.Items); set != nil {
			if _, err := o.adopt(ctx, vm, set); err != nil {
				return err
			}
			continue
		}
		if err := o.keep(ctx, vm); err != nil {
			return err
		}
	}
	o.forget(orphans)
	return nil
}

// adoptFor adopts the orphans of one set and says how many there were.
func (o *Orphans) adoptFor(ctx context.Context, set *machinev1alpha1.MachineSet) (adopted int32, err error) {
	orphans, err := o.find(ctx)
	if err != nil {
		return 0, err
	}
	for _, vm := range orphans {
		if setFor(vm, []machinev1alpha1.MachineSet{*set}) == nil {
			continue
		}
		done, err := o.adopt(ctx, vm, set)
		if err != nil {
			return adopted, err
		}
		if done {
			adopted++
		}
	}
	return adopted, nil
}

// find lists the machines that no Machine stands for. The cloud is read first: a machine is created after its Machine,
// so that one which is in the first list only has lost it.
func (o *Orphans) find(ctx context.Context) ([]cloud.Machine, error) {
	vms, err := o.Cloud.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	machines := &machinev1alpha1.MachineList{}
	if err := o.Control.List(ctx, machines, client.InNamespace(o.Namespace)); err != nil {
		return nil, fmt.Errorf("list the machines: %w", err)
	}
	known := map[string]bool{}
	for _, m := range machines.Items {
		known[m.Name] = true
		if m.Spec.ProviderID != "" {
			known[idOf(m.Spec.ProviderID)] = true
		}
	}
	var orphans []cloud.Machine
	for _, vm := range vms {
		if name := vm.Tags[tagMachine]; name != "" && !known[name] && !known[vm.ID] {
			orphans = append(orphans, vm)
			known[name] = true // a second one of the same name waits until the first has a Machine
		}
	}
	return orphans, nil
}

// setFor is the set that a machine was made for, by name or else by class.
func setFor(vm cloud.Machine, sets []machinev1alpha1.MachineSet) *machinev1alpha1.MachineSet {
	for _, same := range []func(*machinev1alpha1.MachineSet) bool{
		func(s *machinev1alpha1.MachineSet) bool { return s.Name == vm.Tags[tagSet] },
		func(s *machinev1alpha1.MachineSet) bool { return s.Spec.Template.Spec.Class.Name == vm.Tags[tagClass] },
	} {
		for i := range sets {
			if sets[i].DeletionTimestamp == nil && same(&sets[i]) {
				return &sets[i]
			}
		}
	}
	return nil
}

// adopt makes the Machine that the machine has lost, under the name it had.
func (o *Orphans) adopt(ctx context.Context, vm cloud.Machine, set *machinev1alpha1.MachineSet) (bool, error) {
	m := newMachine(set, vm.Tags[tagMachine])
	m.Spec.ProviderID = providerPrefix + vm.ID
	m.Labels[machinev1alpha1.LabelNode] = vm.Hostname
	until := o.Clock.Now().Add(o.Quarantine)
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, annotationQuarantine, until.UTC().Format(time.RFC3339))
	if err := o.Control.Create(ctx, m); apierrors.IsAlreadyExists(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("adopt the machine %q: %w", vm.ID, err)
	}
	o.Events.Eventf(m, nil, corev1.EventTypeNormal, "OrphanAdopted", "Adopt",
		"machine %s of the cloud had no Machine and was adopted; in quarantine until %s", vm.ID,
		m.Annotations[annotationQuarantine])
	o.Log.Info("An orphaned machine was adopted", "machine", m.Name, "id", vm.ID, "set", set.Name)
	return true, nil
}

// keep leaves a machine alone that fits no set, until its quarantine is over.
func (o *Orphans) keep(ctx context.Context, vm cloud.Machine) error {
	o.mu.Lock()
	since, seen := o.since[vm.ID]
	if !seen {
		if o.since == nil {
			o.since = map[string]time.Time{}
		}
		since = o.Clock.Now()
		o.since[vm.ID] = since
	}
	o.mu.Unlock()
	namespace := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: o.Namespace, Name: o.Namespace}
	if !seen {
		o.Events.Eventf(namespace, nil, corev1.EventTypeWarning, "OrphanQuarantined", "Quarantine",
			"machine %s (%s) of the cloud fits no MachineSet; as long as the shoot is awake, it is not deleted within %s", vm.ID,
			vm.Tags[tagMachine], o.Quarantine)
	}
	if o.Clock.Since(since) < o.Quarantine {
		return nil
	}
	if err := o.end(ctx, vm); err != nil {
		return err
	}
	o.Events.Eventf(namespace, nil, corev1.EventTypeWarning, "OrphanDeleted", "Delete",
		"machine %s (%s) of the cloud fitted no MachineSet for %s and was deleted", vm.ID, vm.Tags[tagMachine], o.Quarantine)
	return nil
}

// end makes a Machine for the machine only to delete it, so that it ends as every other: its node is drained and
// removed.
func (o *Orphans) end(ctx context.Context, vm cloud.Machine) error {
	m := &machinev1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: vm.Tags[tagMachine], Finalizers: []string{constants.FinalizerMachineControllerManager},
			Labels:      map[string]string{machinev1alpha1.LabelNode: vm.Hostname},
			Annotations: map[string]string{machinev1alpha1.AnnotationOrphan: vm.ID},
		},
		Spec: machinev1alpha1.MachineSpec{ProviderID: providerPrefix + vm.ID},
	}
	if err := o.Control.Create(ctx, m); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make a Machine for the orphan %q: %w", vm.ID, err)
	}
	return nil
}

// forget drops machines that are gone or adopted.
func (o *Orphans) forget(orphans []cloud.Machine) {
	o.mu.Lock()
	defer o.mu.Unlock()
	there := map[string]bool{}
	for _, vm := range orphans {
		there[vm.ID] = true
	}
	for id := range o.since {
		if !there[id] {
			delete(o.since, id)
		}
	}
}
