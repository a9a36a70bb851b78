package probe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// Conditions and constraints are listed in the order of their types. Only those that are not True have a reason.
func patch(t *testing.T, clients *world.Clients, w *worldtest.World, content string) {
	t.Helper()
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	key := w.ShootKey("alpha")
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := garden.Patch(t.Context(), shoot, client.RawPatch("application/merge-patch+json",
		[]byte(content))); err != nil {
		t.Fatal(err)
	}
}

func TestDescribeSaysWhy(t *testing.T) {
	t.Parallel()
	is := func(kind gardencorev1beta1.ConditionType, status gardencorev1beta1.ConditionStatus,
		reason string) gardencorev1beta1.Condition {
		return gardencorev1beta1.Condition{Type: kind, Status: status, Reason: reason, Message: "It is " + reason + "."}
	}
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Status.Conditions = []gardencorev1beta1.Condition{is("Nodes", "False", "Ill"), is("API", "True", "Well"),
		is("Control", "Unknown", "Unseen")}
	shoot.Status.Constraints = []gardencorev1beta1.Condition{is("MayMove", "Progressing", "Asked")}
	want := []timeline.ConditionIs{
		{Type: "API", Status: "True"}, {Type: "Control", Status: "Unknown", Reason: "Unseen", Message: "It is Unseen."},
		{Type: "MayMove", Status: "Progressing", Reason: "Asked", Message: "It is Asked."},
		{Type: "Nodes", Status: "False", Reason: "Ill", Message: "It is Ill."},
	}
	if diff := cmp.Diff(want, probe.Describe(shoot).Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestShoots_LastLook_RecordsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	w, clients, _ := worldtest.Ready(t, 0)
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	j := journal()
	follower := &probe.Shoots{Shoot: "alpha", Key: w.ShootKey("alpha"), Garden: garden}
	look := func() int {
		t.Helper()
		if err := follower.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		return len(j.Events())
	}
	if once, again := look(), look(); once != 1 || again != 1 {
		t.Errorf("%d events after a look, %d after another", once, again)
	}
	patch(t, clients, w, `{"spec":{"hibernation":{"enabled":true}}}`)
	if n := look(); n != 2 {
		t.Errorf("%d events when it has changed", n)
	}
}
