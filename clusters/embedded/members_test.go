package embedded_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
)

// A garden whose etcd is on three seeds outlives one of them, answers nobody without two, and is back with the first
// that returns. What was written is there. A read waits until the members have a leader. A write that is on its way to
// a leader that has died gets an error.
func TestGardenMembers_TwoOfThreeAreLost_NobodyCanWrite(t *testing.T) {
	t.Parallel()
	seeds := []string{"a", "b", "c"}
	l := start(t, embedded.Options{Seeds: seeds, GardenMembers: seeds})
	garden, a, b := cluster(t, l, "garden"), cluster(t, l, "a"), cluster(t, l, "b")
	config, clients := client(t, garden, clusters.Observer)
	must(t, createSecret(t.Context(), clients, "all"))
	must(t, a.Lose(t.Context(), false))
	must(t, ask(t, config, bound))
	must(t, createSecret(t.Context(), clients, "two"))
	must(t, b.Freeze(t.Context()))
	if err := ask(t, config, 3*time.Second); err == nil {
		t.Error("a garden without a quorum answers")
	}
	must(t, b.Thaw(t.Context()))
	must(t, b.Lose(t.Context(), false))
	if err := ask(t, config, 3*time.Second); err == nil {
		t.Error("a garden with one of three members answers")
	}
	if err := garden.Kill(t.Context(), "etcd"); err == nil {
		t.Error("a garden whose etcd is elsewhere has one of its own")
	}
	must(t, a.Return(t.Context()))
	must(t, ask(t, config, bound))
	for _, name := range []string{"all", "two"} {
		if _, err := clients.CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("the secret %q: %v", name, err)
		}
	}
}
