package probe_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

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

func TestTheInventoryListsEveryType(t *testing.T) {
	t.Parallel()
	w, clients, _ := ready(t, 0)
	seed, err := clients.Cluster("a")
	if err != nil {
		t.Fatal(err)
	}
	const alpha, other = "shoot--p--alpha", "shoot--p--alpha-2"
	config, err := w.Connect("a")
	if err != nil {
		t.Fatal(err)
	}
	empty := journal()
	if err := probe.Inventory(t.Context(), "a", config, timeline.Before, nil, nil, empty); err != nil {
		t.Fatal(err)
	}
	_, builtIn, _ := timeline.First[timeline.InventorySeen](empty.Events())
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: alpha, Name: "c"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "by-label",
			Labels: map[string]string{"shoot": alpha}}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "by-annotation",
			Annotations: map[string]string{"of": "garden/" + alpha + "--uid"}}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: alpha + "-machines"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: other}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: alpha + "bet"}},
	} {
		if err := seed.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	j := journal()
	more := []timeline.Item{{Class: "process", Name: "etcd of " + alpha}}
	if err := probe.Inventory(t.Context(), "a", config, timeline.After, []string{alpha, other}, more, j); err != nil {
		t.Fatal(err)
	}
	e, seen, _ := timeline.First[timeline.InventorySeen](j.Events())
	var got []string
	for _, item := range seen.Items {
		was := func(other timeline.Item) bool { return other.UID != "" && other.UID == item.UID }
		if len(item.Mentions) == 0 && slices.ContainsFunc(builtIn.Items, was) {
			continue
		}
		got = append(got, strings.TrimSpace(strings.Join([]string{item.Class, item.Namespace + "/" + item.Name,
			strings.Join(item.Mentions, ",")}, " ")))
	}
	want := []string{
		"configmaps garden/by-annotation " + alpha,
		"configmaps garden/by-label " + alpha,
		"configmaps garden/" + other + " " + other,
		"configmaps garden/" + alpha + "-machines " + alpha,
		"configmaps garden/" + alpha + "bet",
		"configmaps " + alpha + "/c " + alpha,
		"namespaces /" + alpha + " " + alpha,
		"process /etcd of " + alpha + " " + alpha,
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || e.Subject != "a" || seen.When != "after" || len(seen.Unreadable) > 0 {
		t.Errorf("inventory of %s %s, unreadable %v (-want +got):\n%s", e.Subject, seen.When, seen.Unreadable, diff)
	}
}

func TestAClusterThatCannotBeReachedHasNoInventory(t *testing.T) {
	t.Parallel()
	config, err := to("http://127.0.0.1:1")(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	j := journal()
	if err := probe.Inventory(t.Context(), "a", config, timeline.After, nil, nil, j); err == nil ||
		!strings.Contains(err.Error(), `take the inventory of "a"`) {
		t.Errorf("error %v", err)
	}
	if len(j.Events()) > 0 {
		t.Errorf("recorded %v", j.Events())
	}
}
