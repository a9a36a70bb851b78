package migration

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// ends ends epochs, and looks whether anybody has said so before.
type ends struct{ phase func() string }

func (e ends) Release(_ context.Context, _ etcd.Guard, epoch int64) error {
	if phase := e.phase(); epoch != 3 || phase != "Begun" {
		return errors.New("epoch 3 is to end, and nobody says that before: " + phase)
	}
	return nil
}

func (ends) AwaitEnd(context.Context, etcd.Guard, int64) error { return errNotEnded }

// While the destination has not written to DNS, DNS names the source; and the destination, which has a final snapshot,
// does not wait. So the seed says itself that the epoch has ended, not before it has, and before its guard goes.
func TestTheSourceSaysThatItsEpochHasEnded(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{true, false} {
		shoot, r := leaving(t)
		read := func() *corev1.Namespace {
			namespace := &corev1.Namespace{}
			if err := r.Factory.Seed.Get(t.Context(), client.ObjectKey{Name: "shoot--p--s"}, namespace); err != nil {
				t.Fatal(err)
			}
			return namespace
		}
		phase := func() string {
			namespace := read()
			if namespace.Annotations["transplant.dev/epoch"] != "3" {
				t.Errorf("the namespace has %v", namespace.Annotations)
			}
			return namespace.Annotations["transplant.dev/phase"]
		}
		begun := read()
		begun.Annotations["transplant.dev/phase"] = "Begun"
		if err := r.Factory.Seed.Update(t.Context(), begun); err != nil {
			t.Fatal(err)
		}
		m := &migrate{next: tenure.AwaitEnd, release: ends{phase}, Operation: controlplane.New(&scope.Scope{
			Settings: r.Factory.Settings, Garden: r.Factory.Garden, Seed: r.Factory.Seed, Bucket: finals{}, Shoot: shoot,
			Clock: r.Factory.Clock, Epoch: 3,
		})}
		want := "Ended"
		if failed {
			m.release, want = neverEnds{}, "Begun"
		}
		if err := m.endEpoch(t.Context()); errors.Is(err, errNotEnded) != failed || (err != nil) != failed {
			t.Errorf("ending the epoch: %v", err)
		}
		if got := phase(); got != want {
			t.Errorf("the guard has failed: %t, and the epoch is %s, want %s", failed, got, want)
		}
	}
}
