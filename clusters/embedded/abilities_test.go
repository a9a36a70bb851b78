package embedded_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
)

// One landscape of a garden alone goes through all that can be done to a cluster.
func TestAbilities(t *testing.T) {
	t.Parallel()
	l := start(t, embedded.Options{Seeds: []string{}})
	garden := cluster(t, l, "garden")
	config, clients := client(t, garden, clusters.Observer)
	if err := createSecret(t.Context(), clients, "s"); err != nil {
		t.Fatal(err)
	}

	t.Run("FreezeAndThaw", func(t *testing.T) {
		must(t, garden.Freeze(t.Context()))
		if err := ask(t, config, 500*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
			t.Errorf("ask a frozen API server: got %v, want a time-out", err)
		}
		must(t, garden.Thaw(t.Context()))
		must(t, ask(t, config, bound))
	})
	t.Run("KillAndRevive", func(t *testing.T) {
		before := pids(t, l)
		must(t, garden.Kill(t.Context(), "kube-apiserver"))
		if err := ask(t, config, bound); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("ask a dead API server: got %v, want connection refused", err)
		}
		must(t, garden.Revive(t.Context(), "kube-apiserver"))
		must(t, ask(t, config, bound))
		after := pids(t, l)
		if after["garden/etcd"] != before["garden/etcd"] ||
			after["garden/kube-apiserver"] == before["garden/kube-apiserver"] {
			t.Errorf("before %v, after %v: want a new kube-apiserver, and only that", before, after)
		}
		if err := garden.Kill(t.Context(), "nginx"); err == nil || !strings.Contains(err.Error(), "kube-scheduler") {
			t.Errorf("kill a program that is none: got %v, want an error that lists those there are", err)
		}
	})
	t.Run("LoseAndReturn", func(t *testing.T) {
		must(t, garden.Lose(t.Context(), false))
		must(t, garden.Revive(t.Context(), "etcd")) // which comes back with its cluster
		checkNothingLeft(t, l.Dir().Path)
		must(t, garden.Return(t.Context()))
		_, err := clients.CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{})
		if err != nil {
			t.Errorf("the secret has not survived: %v", err)
		}
	})
	t.Run("LoseWithWipe", func(t *testing.T) {
		must(t, garden.Lose(t.Context(), true))
		must(t, garden.Return(t.Context()))
		_, err := clients.CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("get a secret that was wiped: got %v, want not found", err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask uses a connection of its own: a pooled one would show the past.
func ask(t *testing.T, config *rest.Config, within time.Duration) error {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Timeout = within
	config.Dial = (&net.Dialer{}).DialContext // a dialer of one's own keeps the connection out of the shared pool
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = clients.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	return err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func pids(t *testing.T, l *embedded.Landscape) map[string]int {
	t.Helper()
	state, err := l.Dir().ReadState()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, p := range state.All() {
		found[p.Name] = p.PID
	}
	if !slices.ContainsFunc(state.All(), func(p processState) bool { return p.Name == "garden/etcd" }) {
		t.Fatal("the state has no etcd")
	}
	return found
}
