package worldtest

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/world"
)

// Ready is a small world with seeds a and b and the shoot alpha on seed a, which the observer reaches by connect.
func Ready(t testing.TB, workers int) (w *World, clients *world.Clients,
	connect func(context.Context) (*rest.Config, error)) {
	t.Helper()
	w = New(t, "a", "b")
	clients, _, _ = SetUp(t, w, workers)
	connect = func(ctx context.Context) (*rest.Config, error) { return w.ConnectShoot(ctx, "alpha", world.Observer) }
	Until(t, func() bool { _, err := connect(t.Context()); return err == nil })
	return w, clients, connect
}

// Until waits until it is there, and fails the test when that takes longer than a minute.
func Until(t testing.TB, there func() bool) {
	t.Helper()
	look := func(context.Context) (bool, error) { return there(), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, look); err != nil {
		t.Fatalf("what was awaited did not come: %v", err)
	}
}

// ClientOf connects to what connect leads to.
func ClientOf(t testing.TB, connect func(context.Context) (*rest.Config, error)) kubernetes.Interface {
	t.Helper()
	config, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(world.Unlimited(config))
}
