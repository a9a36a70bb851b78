package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/machine/bootdata"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Timeouts are used where a machine's own configuration names none, and for the controller's own pace.
type Timeouts struct {
	Creation, Health, Drain, InPlaceUpdate time.Duration
	// Poll is how often a machine that is waited for is looked at when no event wakes; Check is how often a healthy one
	// is.
	Poll, Check time.Duration
}

// DefaultTimeouts are those of the field, as shoot updates have them.
var DefaultTimeouts = Timeouts{
	Creation: 10 * time.Minute, Health: 10 * time.Minute, Drain: 2 * time.Hour, InPlaceUpdate: 20 * time.Minute,
	Poll: 2 * time.Second, Check: time.Minute,
}

// Machines makes each Machine a machine of the cloud and a node of the shoot, and ends both with it.
type Machines struct {
	Control  client.Client
	Target   client.Client // the shoot
	Cloud    Cloud
	Clock    clock.PassiveClock
	Timeouts Timeouts

	tries tries
}

// defaultEvictRetries is how often the eviction of a pod may fail, unless a machine's own configuration says more.
const defaultEvictRetries = 10

var _ reconcile.Reconciler = &Machines{}

// conflictPause is the pause before an object is looked at again that somebody else was just writing.
const conflictPause = 50 * time.Millisecond

// retryConflict takes conflicts for what they are: the event of the other's write calls again.
func retryConflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Reconcile implements reconcile.Reconciler.
func (r *Machines) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	m := &machinev1alpha1.Machine{}
	if err := r.Control.Get(ctx, req.NamespacedName, m); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	logger := log.FromContext(ctx)
	after, err := r.reconcile(ctx, logger, m)
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	case errors.Is(err, validity.ErrLapsed):
		logger.Info("The machine waits for a valid ownership of the shoot", "reason", err.Error())
		return reconcile.Result{RequeueAfter: r.Timeouts.Poll}, nil
	}
	return reconcile.Result{RequeueAfter: after}, err
}

func (r *Machines) reconcile(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine) (time.Duration,
	error) {
	if m.DeletionTimestamp != nil {
		return r.terminate(ctx, logger, m)
	}
	if err := hold(ctx, r.Control, m); err != nil {
		return 0, err
	}
	if m.Annotations[machinev1alpha1.AnnotationOrphan] != "" {
		return 0, client.IgnoreNotFound(r.Control.Delete(ctx, m))
	}
	if m.Status.CurrentStatus.Phase == machinev1alpha1.MachineFailed {
		return 0, nil // its set replaces it
	}
	if m.Spec.ProviderID == "" || m.Labels[machinev1alpha1.LabelNode] == "" {
		if err := r.bind(ctx, logger, m); err != nil {
			return r.notCreated(ctx, m, err)
		}
	}
	return r.watch(ctx, logger, m)
}

// bind ties the Machine to a machine of the cloud: to the one that carries its id or its name, else to a new one.
func (r *Machines) bind(ctx context.Context, logger logr.Logger, m *machinev1alpha1.Machine) error {
	vm, err := r.find(ctx, m)
	if err != nil {
		return err
	}
	if vm == nil {
		if m.Spec.ProviderID != "" {
			return nil // it had one, which is gone: watch finds that out
		}
		if vm, err = r.create(ctx, m); err != nil {
			return err
		}
		logger.Info("A machine was created", "id", vm.ID)
	} else if m.Spec.ProviderID == "" {
		logger.Info("A machine was adopted by its name", "id", vm.ID)
	}
	if err := patch.LockedObject(ctx, r.Control, m, func() {
		m.Spec.ProviderID = providerPrefix + vm.ID
		metav1.SetMetaDataLabel(&m.ObjectMeta, machinev1alpha1.LabelNode, vm.Hostname)
	}); err != nil {
		return err
	}
	return r.phase(ctx, m, machinev1alpha1.MachinePending, machinev1alpha1.MachineOperationCreate,
		machinev1alpha1.MachineStateProcessing,
		"Waiting for the node "+vm.Hostname)
}

func (r *Machines) find(ctx context.Context, m *machinev1alpha1.Machine) (*cloud.Machine, error) {
	if m.Spec.ProviderID != "" {
		return r.Cloud.Get(ctx, idOf(m.Spec.ProviderID))
	}
	named, err := r.Cloud.List(ctx, map[string]string{tagMachine: m.Name})
	if err != nil || len(named) == 0 {
		return nil, err
	}
	return &named[0], nil
}

// create makes the machine of the Machine's class. The token is the Machine's UID: whatever becomes of the answer, one
// Machine makes one machine.
func (r *Machines) create(ctx context.Context, m *machinev1alpha1.Machine) (*cloud.Machine, error) {
	class := &machinev1alpha1.MachineClass{}
	if err := r.Control.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Class.Name}, class); err != nil {
		return nil, fmt.Errorf("read MachineClass %q: %w", m.Spec.Class.Name, err)
	}
	wanted := &cloud.Machine{}
	if err := json.Unmarshal(class.ProviderSpec.Raw, wanted); err != nil {
		return nil, fmt.Errorf("read the providerSpec of MachineClass %q: %w", class.Name, err)
	}
	userData, err := bootdata.Of(ctx, r.Control, class, m)
	if err != nil {
		return nil, err
	}
	wanted.Name, wanted.UserData = m.Name, userData
	wanted.Tags = map[string]string{tagMachine: m.Name, tagClass: class.Name}
	if owner := metav1.GetControllerOf(m); owner != nil {
		wanted.Tags[tagSet] = owner.Name
	}
	return r.Cloud.Create(ctx, wanted, string(m.UID))
}

// notCreated shows why there is no machine yet, and gives up when the creation has taken too long.
func (r *Machines) notCreated(ctx context.Context, m *machinev1alpha1.Machine, cause error) (time.Duration, error) {
	if errors.Is(cause, validity.ErrLapsed) || apierrors.IsConflict(cause) {
		return 0, cause
	}
	phase := machinev1alpha1.MachineCrashLoopBackOff
	if r.Clock.Since(m.CreationTimestamp.Time) > r.creationTimeout(m) {
		phase = machinev1alpha1.MachineFailed
	}
	if err := r.report(ctx, m, phase, machinev1alpha1.LastOperation{
		Type: machinev1alpha1.MachineOperationCreate, State: machinev1alpha1.MachineStateFailed,
		Description: cause.Error(), ErrorCode: string(cloud.CodeOf(cause)),
	}); err != nil {
		return 0, errors.Join(cause, err)
	}
	if phase == machinev1alpha1.MachineFailed {
		return 0, nil
	}
	return 0, cause
}

// phase writes where the machine stands, where no error of the cloud is the cause.
func (r *Machines) phase(ctx context.Context, m *machinev1alpha1.Machine, phase machinev1alpha1.MachinePhase,
	op machinev1alpha1.MachineOperationType, state machinev1alpha1.MachineState, description string) error {
	return r.report(ctx, m, phase, machinev1alpha1.LastOperation{Type: op, State: state, Description: description})
}

// report writes where the machine stands. The time of a phase is that of its beginning: timeouts count from it.
func (r *Machines) report(
	ctx context.Context, m *machinev1alpha1.Machine, phase machinev1alpha1.MachinePhase,
	operation machinev1alpha1.LastOperation,
) error {
	now := metav1.NewTime(r.Clock.Now())
	return patch.Status(ctx, r.Control, m, func() {
		current, last := &m.Status.CurrentStatus, &m.Status.LastOperation
		if current.Phase != phase {
			current.Phase, current.LastUpdateTime = phase, now
			current.TimeoutActive = phase == machinev1alpha1.MachinePending || phase == machinev1alpha1.MachineUnknown
		}
		operation.LastUpdateTime = last.LastUpdateTime
		if *last != operation {
			operation.LastUpdateTime = now
			*last = operation
		}
	})
}

func (r *Machines) creationTimeout(m *machinev1alpha1.Machine) time.Duration {
	return timeout(m, r.Timeouts.Creation, func(c *machinev1alpha1.MachineConfiguration) *metav1.Duration {
		return c.MachineCreationTimeout
	})
}

func (r *Machines) healthTimeout(m *machinev1alpha1.Machine) time.Duration {
	return timeout(m, r.Timeouts.Health, func(c *machinev1alpha1.MachineConfiguration) *metav1.Duration {
		return c.MachineHealthTimeout
	})
}

func (r *Machines) drainTimeout(m *machinev1alpha1.Machine) time.Duration {
	return timeout(m, r.Timeouts.Drain, func(c *machinev1alpha1.MachineConfiguration) *metav1.Duration {
		return c.MachineDrainTimeout
	})
}

func (r *Machines) evictRetries(m *machinev1alpha1.Machine) int32 {
	if c := m.Spec.MachineConfiguration; c != nil && c.MaxEvictRetries != nil {
		return *c.MaxEvictRetries
	}
	return defaultEvictRetries
}

func timeout(m *machinev1alpha1.Machine, otherwise time.Duration,
	of func(*machinev1alpha1.MachineConfiguration) *metav1.Duration) time.Duration {
	if m.Spec.MachineConfiguration == nil {
		return otherwise
	}
	if own := of(m.Spec.MachineConfiguration); own != nil {
		return own.Duration
	}
	return otherwise
}
