package inventory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func journal() *timeline.Journal { return timeline.NewJournal(clock.RealClock{}, nil) }

func TestTheInventoryListsEveryType(t *testing.T) {
	t.Parallel()
	w, clients, _ := worldtest.Ready(t, 0)
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
	if _, err := inventory.Take(t.Context(), "a", config, timeline.Before, nil, nil, empty); err != nil {
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
	if _, err := inventory.Take(t.Context(), "a", config, timeline.After, []string{alpha, other}, more, j); err != nil {
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
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	j := journal()
	if _, err := inventory.Take(t.Context(), "a", config, timeline.After, nil, nil, j); err == nil ||
		!strings.Contains(err.Error(), `take the inventory of "a"`) {
		t.Errorf("error %v", err)
	}
	if len(j.Events()) > 0 {
		t.Errorf("recorded %v", j.Events())
	}
}
