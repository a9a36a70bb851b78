package extension

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// rules are what holds when a machine ends: the columns of the table in docs/machines.md.
type rules struct {
	Budget     string // how long a disruption budget that allows nothing holds the machine
	Refusal    string // how long evictions that are refused for another reason do
	Silence    string // how long a shoot's API server that does not answer does
	Quarantine string // whether the quarantine of an adopted machine does
	Lapse      string // what happens while the ownership of the shoot is not valid
	Node       string // what becomes of the Node
	Another    string // whether another machine is made in its place
	Events     string // the reasons of the events
}

// What the columns say.
const (
	notAsked     = "not asked"
	drainTimeout = "until machineDrainTimeout"
	evictRetries = "until maxEvictRetries"
	holds        = "holds"
	goesOn       = "goes on"
	waits        = "waits"
	removed      = "removed"
	stays        = "stays"
	another      = "yes"
	noOther      = "no"
	asLong       = "as long as it lasts"
)

// Most ways are one of these: the node is drained, or the machine is ended by force.
var (
	drained = rules{drainTimeout, evictRetries, drainTimeout, notAsked, waits, removed, noOther, ""}
	forced  = rules{notAsked, notAsked, notAsked, notAsked, waits, removed, noOther, ""}
)

// but changes some rules of a row.
func (r rules) but(changes ...func(*rules)) rules {
	for _, change := range changes {
		change(&r)
	}
	return r
}

func isReplaced(r *rules)    { r.Another = another }
func isQuarantined(r *rules) { r.Quarantine = holds }

// waitsForReplacement: it ends when the machine in its place is seen to be ready.
func waitsForReplacement(r *rules) { r.Silence = asLong }

func isOrphaned(r *rules) { r.Events = "OrphanQuarantined" }

// way is one by which machines end.
type way struct {
	name  string
	want  rules
	pool  func(*extensionsv1alpha1.WorkerPool) // what the pool is like from the beginning
	start func(*shootWithMachines)
	// hasEnded says whether it is done; that a machine is gone from the cloud when not given.
	hasEnded func(*shootWithMachines) bool
	// abandons machines: they stay in the cloud.
	abandons bool
}

func waysToEnd() []way {
	return []way{
		{name: "shoot deleted", want: forced, start: func(w *shootWithMachines) { w.delete(w.worker) }},
		// Whoever forces it takes the machines over (docs/specification/extensions.md#spec-3-9).
		{name: "shoot deleted by force", start: (*shootWithMachines).deleteByForce,
			hasEnded: (*shootWithMachines).hasLostMachine, abandons: true,
			want: forced.but(func(r *rules) {
				r.Node, r.Lapse = stays, goesOn
				r.Events = "OrphanQuarantined OrphanQuarantined OrphanQuarantined" // by a controller that is still there
			})},
		{name: "hibernation", want: forced, start: func(w *shootWithMachines) { w.hibernate(nil) }},
		{name: "hibernation, pool removed", want: forced, start: func(w *shootWithMachines) { w.hibernate(withoutPool) }},
		{name: "hibernation, zone removed", want: forced, start: func(w *shootWithMachines) { w.hibernate(withOneZone) }},
		{name: "hibernation, pool updated in place", pool: inPlace(0), want: forced, start: func(w *shootWithMachines) {
			w.hibernate(nil)
		}},
		{name: "hibernation, while an in-place update is going on", pool: inPlace(0), want: forced,
			start: func(w *shootWithMachines) {
				w.updateInPlace()
				w.pass(4)
				w.evictions = 0 // those of the update
				w.hibernate(nil)
			}},
		{name: "pool updated in place scaled to zero", pool: inPlace(0), want: drained.but(isQuarantined),
			start: func(w *shootWithMachines) { w.reconcile(withMachines(0)) }},
		{name: "pool scaled down", want: drained.but(isQuarantined), start: func(w *shootWithMachines) {
			w.reconcile(withMachines(1))
		}},
		{name: "pool scaled to zero", want: drained.but(isQuarantined), start: func(w *shootWithMachines) {
			w.reconcile(withMachines(0))
		}},
		{name: "pool removed", want: drained, start: func(w *shootWithMachines) { w.reconcile(withoutPool) }},
		{name: "zone removed", want: drained.but(isReplaced, waitsForReplacement), start: func(w *shootWithMachines) {
			w.reconcile(withOneZone)
		}},
		{name: "rolling update", want: drained.but(isReplaced, isQuarantined), start: func(w *shootWithMachines) {
			w.reconcile(withImage)
		}},
		{name: "in-place update", pool: inPlace(0), start: (*shootWithMachines).updateInPlace,
			hasEnded: (*shootWithMachines).isReadyForUpdate,
			want:     drained.but(func(r *rules) { r.Silence, r.Lapse, r.Node = asLong, goesOn, stays })},
		{name: "in-place update with maxSurge", pool: inPlace(2), start: (*shootWithMachines).updateInPlace,
			want: drained.but(isReplaced, isQuarantined, waitsForReplacement)},
		{name: "node unhealthy", want: drained.but(isReplaced), start: (*shootWithMachines).failHealth},
		{name: "node never registered", start: (*shootWithMachines).failCreation,
			want: forced.but(isReplaced, func(r *rules) { r.Silence = drainTimeout })},
		{name: "machine gone from the cloud", start: (*shootWithMachines).terminateOne,
			hasEnded: (*shootWithMachines).hasLostMachine,
			want:     forced.but(isReplaced, func(r *rules) { r.Silence = asLong })},
		{name: "Machine deleted by a user", want: drained.but(isReplaced), start: func(w *shootWithMachines) {
			w.deleteOne(nil)
		}},
		{name: "Machine deleted by a user by force", want: forced.but(isReplaced), start: func(w *shootWithMachines) {
			w.deleteOne(map[string]string{"force-deletion": "True"})
		}},
		{name: "orphan of no pool", start: (*shootWithMachines).outliveQuarantine,
			want: drained.but(isQuarantined, isOrphaned, func(r *rules) { r.Events += " OrphanDeleted" })},
		{name: "orphan of no pool, hibernation", want: forced.but(isOrphaned), start: func(w *shootWithMachines) {
			w.createOrphan()
			w.hibernate(nil)
		}},
		{name: "orphan of no pool, shoot deleted", want: forced.but(isOrphaned), start: func(w *shootWithMachines) {
			w.createOrphan()
			w.delete(w.worker)
		}},
	}
}

func withoutPool(worker *extensionsv1alpha1.Worker) { worker.Spec.Pools = worker.Spec.Pools[1:] }

func withOneZone(worker *extensionsv1alpha1.Worker) {
	worker.Spec.Pools[0].Zones = worker.Spec.Pools[0].Zones[:1]
}

func withImage(worker *extensionsv1alpha1.Worker) {
	worker.Spec.Pools[0].MachineImage.Version = "1.0.1"
}

func withMachines(number int32) func(*extensionsv1alpha1.Worker) {
	return func(worker *extensionsv1alpha1.Worker) {
		worker.Spec.Pools[0].Minimum, worker.Spec.Pools[0].Maximum = number, number
	}
}

func inPlace(surge int32) func(*extensionsv1alpha1.WorkerPool) {
	return func(pool *extensionsv1alpha1.WorkerPool) {
		pool.UpdateStrategy = ptr.To(gardencorev1beta1.AutoInPlaceUpdate)
		pool.MaxSurge, pool.MaxUnavailable = intstr.FromInt32(surge), intstr.FromInt32(2)
	}
}

func (w *shootWithMachines) updateInPlace() {
	w.shootVersion = "1.36.3"
	w.reconcile(nil)
}

func (w *shootWithMachines) hibernate(change func(*extensionsv1alpha1.Worker)) {
	w.asleep = true
	w.reconcile(change)
}

func (w *shootWithMachines) deleteByForce() {
	w.annotations = map[string]string{constants.ConfirmationForceDeletion: "true"}
	w.putShoot()
	w.delete(w.worker)
}

// TestMachineEnds_EveryWay_FollowsTheRules: a rule for one way by which machines end is a rule for all, unless the
// table says otherwise.
func TestMachineEnds_EveryWay_FollowsTheRules(t *testing.T) {
	t.Parallel()
	for _, way := range waysToEnd() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			got := rules{
				Budget: delayBy(t, way, errBudget), Refusal: delayBy(t, way, errWebhook), Silence: delayBySilence(t, way),
				Quarantine: delayByQuarantine(t, way), Lapse: delayByLapse(t, way),
			}
			got.Node, got.Another, got.Events = afterwards(t, way)
			if diff := cmp.Diff(way.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// delayBy refused evictions.
func delayBy(t *testing.T, way way, refusal error) string {
	w := started(t, way, func(w *shootWithMachines) { w.refusal = refusal })
	switch {
	case !w.endsWithin(18):
		return w.untilDrainTimeout()
	case w.evictions > 0:
		return evictRetries
	}
	return notAsked
}

func delayBySilence(t *testing.T, way way) string {
	w := started(t, way, nil)
	w.away = true
	if w.endsWithin(8) {
		return notAsked
	}
	return w.untilDrainTimeout()
}

func (w *shootWithMachines) untilDrainTimeout() string {
	w.clock.Step(2 * time.Hour)
	if w.endsWithin(6) {
		return drainTimeout
	}
	w.away = false
	if !w.endsWithin(20) {
		w.t.Error("it does not end when nothing is in its way any more")
	}
	return asLong
}

func delayByQuarantine(t *testing.T, way way) string {
	w := started(t, way, (*shootWithMachines).quarantineAll)
	if w.endsWithin(14) {
		return notAsked
	}
	w.clock.Step(quarantineTime)
	if !w.endsWithin(14) {
		t.Error("it does not end after the quarantine")
	}
	return holds
}

func delayByLapse(t *testing.T, way way) string {
	w := started(t, way, nil)
	w.owner.lapsed = true
	before := w.cloud.IDs()
	w.pass(8)
	if diff := cmp.Diff(before, w.cloud.IDs()); diff != "" {
		t.Errorf("in the cloud without a valid ownership (-before +after):\n%s", diff)
	}
	if w.hasEnded() {
		return goesOn
	}
	w.owner.lapsed = false
	if !w.endsWithin(20) {
		t.Error("it does not end when the ownership is valid again")
	}
	return waits
}

// afterwards is what is left where nothing is in the way.
func afterwards(t *testing.T, way way) (node, other, events string) {
	w := started(t, way, nil)
	made := w.made()
	w.passUntil(20, w.hasEnded)
	w.pass(5)
	node, other = removed, noOther
	if slices.ContainsFunc(w.nodes(), w.isEndedNode) || !w.hasLostMachine() {
		node = stays
	}
	if w.made() > made {
		other = another
	}
	return node, other, strings.Join(w.events.reasons, " ")
}

// TestHibernation_CutShort_LeavesNoForcedMachine: a machine that was to go with all others and stays after all is
// drained when its turn comes, unless its user wants otherwise.
func TestHibernation_CutShort_LeavesNoForcedMachine(t *testing.T) {
	t.Parallel()
	w := newShootWithMachines(t, way{start: func(*shootWithMachines) {}})
	users := w.victims[0]
	w.patchMachine(users.Name, func(m *machinev1alpha1.Machine) { m.Labels["force-deletion"] = "True" })
	w.hibernate(nil)
	w.lookAtWorker() // nobody looks at the machines before the shoot is woken
	for _, m := range w.all() {
		if m.Labels["force-deletion"] != "True" {
			t.Errorf("machine %s is not marked although the shoot is to sleep", m.Name)
		}
	}
	w.asleep = false
	w.reconcile(nil)
	w.pass(8)
	if got, want := len(w.all()), 3; got != want {
		t.Errorf("%d machines, want %d", got, want)
	}
	for _, m := range w.all() {
		if forced := m.Labels["force-deletion"] == "True"; forced != (m.Name == users.Name) {
			t.Errorf("machine %s: to be ended by force: %t", m.Name, forced)
		}
	}
}

// TestMachineEnds_CloudRefuses_WorkerSaysWhy: a machine that the cloud does not let end, or does not show, is named
// with the codes of its answer, as one that it does not make. Nobody waits for the old machine of a rolling update.
func TestMachineEnds_CloudRefuses_WorkerSaysWhy(t *testing.T) {
	t.Parallel()
	starts := map[string]func(*shootWithMachines){
		"shoot deleted":    func(w *shootWithMachines) { w.delete(w.worker) },
		"hibernation":      func(w *shootWithMachines) { w.hibernate(nil) },
		"pool scaled down": func(w *shootWithMachines) { w.reconcile(withMachines(1)) },
		"pool removed":     func(w *shootWithMachines) { w.reconcile(withoutPool) },
	}
	refused := &cloud.Error{
		Code: cloud.CodeUnauthorized, Reason: "UnauthorizedOperation", Message: "it may not end machines",
	}
	refusals := map[string]func(*owner, error){
		"to end it":  func(o *owner, err error) { o.keeps = err },
		"to show it": func(o *owner, err error) { o.hides = err },
	}
	for name, start := range starts {
		for what, refuse := range refusals {
			t.Run(name+", refused "+what, func(t *testing.T) {
				t.Parallel()
				w := started(t, way{start: start}, func(w *shootWithMachines) {
					refuse(w.owner, refused)
					w.must(w.target.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default")))
				})
				w.passUntil(20, func() bool {
					w.get(w.worker)
					last := w.worker.Status.LastError
					return last != nil && strings.Contains(last.Description, refused.Message) &&
						slices.Equal(last.Codes, []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorInfraUnauthorized})
				})
				refuse(w.owner, nil)
				if !w.endsWithin(20) {
					t.Error("it does not end when the cloud lets it")
				}
			})
		}
	}
}
