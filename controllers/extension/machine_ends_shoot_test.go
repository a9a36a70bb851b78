package extension

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/machine"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// quarantineTime is shorter than the drain timeout: API servers stamp deletions with a clock that nobody steps.
const quarantineTime = time.Hour

// Answers to evictions.
var (
	errBudget  = apierrors.NewTooManyRequestsError("Cannot evict pod as it would violate the pod's disruption budget.")
	errWebhook = apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("a webhook denied the request"))
)

// shootWithMachines is a seed with the Worker extension and a shoot's machine controller, as in a landscape, and the
// shoot.
type shootWithMachines struct {
	*bench
	way     way
	worker  *extensionsv1alpha1.Worker
	target  client.WithWatch
	owner   *owner
	events  reasons
	victims []machinev1alpha1.Machine // those of the pool, at the start

	deployments *machine.Deployments
	sets        *machine.Sets
	machines    *machine.Machines
	orphans     *machine.Orphans

	// The shoot as it is wanted.
	asleep       bool
	shootVersion string
	annotations  map[string]string

	refusal     error // of evictions
	evictions   int
	away        bool // the shoot's API server does not answer
	noNodes     bool // new machines do not become nodes
	quarantined bool
}

// owner is the cloud for who owns the shoot, or does not.
type owner struct {
	lapsed bool
	// keeps is the answer of the cloud to who ends a machine, and hides that to who asks for one; nil if it does so.
	keeps, hides error
	client       *cloud.Client
}

func (o *owner) Valid(context.Context) error {
	if o.lapsed {
		return validity.ErrLapsed
	}
	return nil
}

func (o *owner) Create(ctx context.Context, m *cloud.Machine, token string) (*cloud.Machine, error) {
	if o.lapsed {
		return nil, validity.ErrLapsed
	}
	wanted := *m
	wanted.Tags = ofShoot(m.Tags)
	return o.client.Machines().Create(ctx, &wanted, cloud.ClientToken(token))
}

func ofShoot(tags map[string]string) map[string]string {
	all := map[string]string{"transplant.dev/shoot": technicalID}
	maps.Copy(all, tags)
	return all
}

func (o *owner) Get(ctx context.Context, id string) (*cloud.Machine, error) {
	if o.hides != nil {
		return nil, o.hides
	}
	found, err := o.client.Machines().Get(ctx, id)
	if cloud.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

func (o *owner) List(ctx context.Context, tags map[string]string) ([]cloud.Machine, error) {
	return o.client.Machines().List(ctx, cloud.Filter{Tags: ofShoot(tags)})
}

func (o *owner) Delete(ctx context.Context, id string) error {
	if o.lapsed {
		return validity.ErrLapsed
	}
	if o.keeps != nil {
		return o.keeps
	}
	if err := o.client.Machines().Delete(ctx, id); err != nil && !cloud.IsNotFound(err) {
		return err
	}
	return nil
}

// ownerFence lets the extension act while the shoot is owned.
type ownerFence struct {
	fixedFence
	owner *owner
}

func (f ownerFence) Hold(ctx context.Context, namespace string) (context.Context, context.CancelFunc, error) {
	if f.owner.lapsed {
		return nil, nil, validity.ErrLapsed
	}
	return f.fixedFence.Hold(ctx, namespace)
}

type reasons struct{ reasons []string }

func (r *reasons) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	r.reasons = append(r.reasons, reason)
}

// newShootWithMachines has a pool of two machines in two zones, and another of one, all of them nodes with a pod each.
func newShootWithMachines(t *testing.T, way way) *shootWithMachines {
	t.Helper()
	c := cloudtest.NewLandscape(t)
	w := &shootWithMachines{bench: newBench(t, "a", c, 1), way: way, owner: &owner{client: c.Client(t)},
		shootVersion: "1.35.6"}
	w.base = interceptor.NewClient(w.base, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetUID(uuid.NewUUID())
			o.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
			return c.Create(ctx, o, opts...)
		},
	})
	w.restart()
	w.target = w.newTarget()
	w.run()
	w.worker = workerObject()
	first, second := &w.worker.Spec.Pools[0], workerObject().Spec.Pools[0]
	first.Minimum = 2
	second.Name, second.Minimum, second.Zones = "other", 1, second.Zones[:1]
	if way.pool != nil {
		way.pool(first)
	}
	w.worker.Spec.Pools = append(w.worker.Spec.Pools, second)
	w.create(w.worker)
	w.reconcile(nil)
	w.passUntil(10, func() bool {
		w.get(w.worker)
		return last(w.worker) == "Create/Succeeded/100"
	})
	for _, m := range w.all() {
		if m.Spec.Class.Name[:len(technicalID+"-pool")] == technicalID+"-pool" {
			w.victims = append(w.victims, m)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: m.Name},
			Spec: corev1.PodSpec{NodeName: m.Name}}
		w.must(w.target.Create(t.Context(), pod))
	}
	return w
}

// started is a shoot whose machines end in a way.
func started(t *testing.T, way way, before func(*shootWithMachines)) *shootWithMachines {
	t.Helper()
	w := newShootWithMachines(t, way)
	if before != nil {
		before(w)
	}
	way.start(w)
	return w
}

func (w *shootWithMachines) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *shootWithMachines) newTarget() client.WithWatch {
	scheme := scheme()
	tracker := clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).WithStatusSubresource(&corev1.Node{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
			return []string{o.(*corev1.Pod).Spec.NodeName}
		}).Build()
}

// run starts the machine controller.
func (w *shootWithMachines) run() {
	errAway := errors.New("connection refused")
	target := interceptor.NewClient(w.target, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if w.away {
				return errAway
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if w.away {
				return errAway
			}
			return c.List(ctx, list, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if w.away {
				return errAway
			}
			return c.Delete(ctx, o, opts...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, body client.Object,
			opts ...client.SubResourceCreateOption) error {
			w.evictions++
			if w.refusal != nil {
				return w.refusal
			}
			return c.SubResource(sub).Create(ctx, o, body, opts...)
		},
	})
	w.orphans = &machine.Orphans{
		Control: w.base, Cloud: w.owner, Owner: w.owner, Clock: w.clock, Events: &w.events, Log: logr.Discard(),
		Namespace:  technicalID,
		Quarantine: quarantineTime, Every: time.Minute,
	}
	w.deployments = &machine.Deployments{Control: w.base, Target: target, Clock: w.clock}
	w.sets = &machine.Sets{Control: w.base, Owner: w.owner, Clock: w.clock, Orphans: w.orphans, Poll: time.Second}
	w.machines = &machine.Machines{Control: w.base, Target: target, Cloud: w.owner, Clock: w.clock,
		Timeouts: machine.DefaultTimeouts}
	w.provider.Fence = ownerFence{fixedFence{w.epoch}, w.owner}
}

// putShoot lets the extension see the shoot as it is wanted.
func (w *shootWithMachines) putShoot() {
	w.setShoot(func(s *gardencorev1beta1.Shoot) {
		s.Annotations = w.annotations
		s.Spec.Kubernetes.Version = w.shootVersion
		s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(w.asleep)}
		s.Spec.Provider.Workers = nil
		for _, pool := range w.worker.Spec.Pools {
			s.Spec.Provider.Workers = append(s.Spec.Provider.Workers, gardencorev1beta1.Worker{Name: pool.Name,
				UpdateStrategy: pool.UpdateStrategy})
		}
	})
}

// reconcile does what a gardenlet does when the shoot has changed.
func (w *shootWithMachines) reconcile(change func(*extensionsv1alpha1.Worker)) {
	w.t.Helper()
	if change != nil {
		w.change(w.worker, func() { change(w.worker) })
	}
	w.putShoot()
	w.annotate(w.worker, "reconcile")
}

// endsWithin lets everybody look at everything, at most so many times, and says whether it has ended by then.
func (w *shootWithMachines) endsWithin(times int) bool {
	w.t.Helper()
	for range times {
		if w.hasEnded() {
			return true
		}
		w.pass(1)
	}
	return w.hasEnded()
}

// passUntil does so until it is done, which it must be.
func (w *shootWithMachines) passUntil(times int, isDone func() bool) {
	w.t.Helper()
	for range times {
		if isDone() {
			return
		}
		w.pass(1)
	}
	w.t.Fatalf("it is not done after %d looks", times)
}

// pass lets everybody look at everything so many times.
func (w *shootWithMachines) pass(times int) {
	w.t.Helper()
	for range times {
		w.lookAtWorker()
		if err := w.orphans.Sweep(w.t.Context()); err != nil {
			w.t.Log(err)
		}
		w.look(&machinev1alpha1.MachineDeploymentList{}, w.deployments)
		w.look(&machinev1alpha1.MachineSetList{}, w.sets)
		w.look(&machinev1alpha1.MachineList{}, w.machines)
		w.checkOrder()
		w.boot()
		w.clock.Step(2 * time.Second)
	}
}

func (w *shootWithMachines) lookAtWorker() {
	if _, err := w.once(w.worker); err != nil {
		w.t.Log(err)
	}
}

func (w *shootWithMachines) look(list client.ObjectList, by reconcile.Reconciler) {
	w.t.Helper()
	w.must(w.base.List(w.t.Context(), list))
	var keys []types.NamespacedName
	w.must(eachObject(list, func(o client.Object) { keys = append(keys, client.ObjectKeyFromObject(o)) }))
	for _, key := range keys {
		if _, err := by.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			w.t.Log(err)
		}
	}
}

// checkOrder finds machines in the cloud whose Machine has gone before them.
func (w *shootWithMachines) checkOrder() {
	w.t.Helper()
	for _, victim := range w.victims {
		if !w.way.abandons && !w.isThere(victim) && w.isInCloud(victim) && victim.Name != orphanName {
			w.t.Errorf("the Machine %s is gone before its machine", victim.Name)
		}
	}
}

// boot registers a node for every machine of the cloud.
func (w *shootWithMachines) boot() {
	w.t.Helper()
	for _, vm := range w.vms() {
		ready := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: vm.Hostname}, Status: corev1.NodeStatus{Conditions: ready}}
		if w.noNodes {
			continue
		}
		if err := w.target.Create(w.t.Context(), node); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
}

func (w *shootWithMachines) vms() []cloud.Machine {
	w.t.Helper()
	found, err := w.owner.List(w.t.Context(), nil)
	w.must(err)
	return found
}

func (w *shootWithMachines) all() []machinev1alpha1.Machine {
	w.t.Helper()
	list := &machinev1alpha1.MachineList{}
	w.must(w.base.List(w.t.Context(), list))
	return list.Items
}

func (w *shootWithMachines) nodes() []corev1.Node {
	w.t.Helper()
	list := &corev1.NodeList{}
	w.must(w.target.List(w.t.Context(), list))
	return list.Items
}

func (w *shootWithMachines) isThere(m machinev1alpha1.Machine) bool {
	return slices.ContainsFunc(w.all(), func(other machinev1alpha1.Machine) bool { return other.UID == m.UID })
}

func (w *shootWithMachines) isInCloud(m machinev1alpha1.Machine) bool {
	return slices.ContainsFunc(w.vms(), func(vm cloud.Machine) bool { return vm.Name == m.Name })
}

// made is how many machines were made so far.
func (w *shootWithMachines) made() int {
	n := 0
	for _, call := range w.cloud.Ledger() {
		if call.Verb == "create" && call.Kind == cloud.KindMachines {
			n++
		}
	}
	return n
}

func (w *shootWithMachines) patchMachine(name string, change func(*machinev1alpha1.Machine)) {
	w.t.Helper()
	m := &machinev1alpha1.Machine{}
	w.must(w.base.Get(w.t.Context(), client.ObjectKey{Namespace: technicalID, Name: name}, m))
	before := m.DeepCopy()
	change(m)
	w.must(w.base.Patch(w.t.Context(), m, client.MergeFrom(before)))
}
