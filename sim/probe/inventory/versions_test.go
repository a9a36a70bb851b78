package inventory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// A write, a new object and one that has gone are moves; a heartbeat is none, and one that names another owner is.
func TestWhatMoves(t *testing.T) {
	t.Parallel()
	w, clients, _ := worldtest.Ready(t, 0)
	seed, err := clients.Cluster("a")
	must(t, err)
	config, err := w.Connect("a")
	must(t, err)
	object := func(namespace, name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	lease := func(name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	}
	elects := object("n", "elects")
	elects.Annotations = map[string]string{"control-plane.alpha.kubernetes.io/leader": "1"}
	for _, o := range []client.Object{object("n", "kept"), object("n", "written"), object("n", "goes"),
		object("load", "out"), elects, lease("beats"), lease("claim")} {
		must(t, seed.Create(t.Context(), o))
	}
	look := func() inventory.Versions {
		v := inventory.Versions{}
		must(t, v.Add(t.Context(), "a", config, "load"))
		return v
	}
	before := look()
	if moved := before.Moved(look()); len(moved) > 0 {
		t.Errorf("nobody has done anything, and there moved %q", moved)
	}
	merge := func(o client.Object, content string) {
		must(t, seed.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(content))))
	}
	merge(object("n", "written"), `{"data":{"a":"b"}}`)
	merge(object("load", "out"), `{"data":{"a":"b"}}`)
	merge(lease("claim"), `{"metadata":{"annotations":{"transplant.dev/epoch":"2"}}}`)
	merge(lease("beats"), `{"spec":{"renewTime":"2026-01-01T00:00:00.000000Z"}}`)
	merge(elects, `{"metadata":{"annotations":{"control-plane.alpha.kubernetes.io/leader":"2"}}}`)
	must(t, seed.Create(t.Context(), object("n", "comes")))
	must(t, seed.Delete(t.Context(), object("n", "goes")))

	var got []string
	for _, move := range before.Moved(look()) {
		what, _, _ := strings.Cut(move, " (")
		got = append(got, what)
	}
	want := []string{
		"a: configmaps n/comes is new", "a: configmaps n/written has changed",
		"a: leases.coordination.k8s.io n/claim has changed", "a: configmaps n/goes has gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
}

// Of a node what it says of itself does not count, and what is wanted of it does.
func TestWhatMovesOfNodes(t *testing.T) {
	t.Parallel()
	_, _, connect := worldtest.Ready(t, 1)
	config, err := connect(t.Context())
	must(t, err)
	nodes := worldtest.ClientOf(t, connect).CoreV1().Nodes()
	worldtest.Until(t, func() bool { _, err := nodes.Get(t.Context(), "node-0", metav1.GetOptions{}); return err == nil })
	for _, c := range []struct {
		patch string
		moves bool
	}{
		{`{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T00:00:00Z"}]}}`, false},
		{`{"metadata":{"labels":{"flips":"1"}}}`, true},
		{`{"metadata":{"annotations":{"flips":"1"}}}`, true},
		{`{"spec":{"unschedulable":true}}`, true},
		{`{"spec":{"taints":[{"key":"flips","effect":"NoSchedule"}]}}`, true},
	} {
		look := func() inventory.Versions {
			v := inventory.Versions{}
			must(t, v.Add(t.Context(), "alpha", config))
			return v
		}
		before := look()
		_, err := nodes.Patch(t.Context(), "node-0", types.MergePatchType, []byte(c.patch), metav1.PatchOptions{})
		must(t, err)
		if moved := before.Moved(look()); c.moves != (len(moved) == 1 && strings.HasPrefix(moved[0],
			"alpha: nodes node-0 has changed")) || !c.moves && len(moved) > 0 {
			t.Errorf("after %s there moved %q, want a move %t", c.patch, moved, c.moves)
		}
	}
}

func TestWhatCannotBeListedMayMove(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	if err := (inventory.Versions{}).Add(t.Context(), "a", config); err == nil {
		t.Error("a cluster that does not answer rests")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
