package worldtest

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// SetUp asks the garden of a small world for the shoot alpha on seed a. It does not wait for it.
func SetUp(t testing.TB, w *World, workers int) (*world.Clients, client.Client, *gardencorev1beta1.Shoot) {
	t.Helper()
	clients, err := world.NewClients(w)
	if err != nil {
		t.Fatal(err)
	}
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	shoot, err := w.ShootManifest(landscape.Shoot{Name: "alpha", Seed: "a", Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	if err := garden.Create(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	return clients, garden, shoot
}
