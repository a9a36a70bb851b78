package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/backend"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// inProcess is a landscape in this process, as scenarios have it.
type inProcess struct {
	landscape *embedded.Landscape
	world     *backend.World
	garden    client.Client
}

// startInProcess starts a landscape with seeds a and b, which ends with the test. Its nodes know more images.
func startInProcess(t *testing.T, name string, s *environment.Environment, images ...embedded.Image) inProcess {
	t.Helper()
	log.SetLogger(logr.Discard()) // otherwise the first client prints the stack of its caller
	options := embedded.Options{Name: name, Dir: filepath.Join(t.TempDir(), name), Executable: built(t)}
	s.Configure(&options)
	options.Images = append(options.Images, images...)
	l, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	w, err := backend.NewWorld(l, s, (&backend.Embedded{}).Can)
	if err != nil {
		t.Fatal(errors.Join(err, l.Stop(context.WithoutCancel(t.Context()))))
	}
	t.Cleanup(func() {
		if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	p := inProcess{landscape: l, world: w}
	clients, err := world.NewClients(w)
	if err == nil {
		p.garden, err = clients.Cluster(simlandscape.Garden)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// createShoot as scenarios do: its state has been saved before anything happens to it.
func (p *inProcess) createShoot(t *testing.T, wanted simlandscape.Shoot) {
	t.Helper()
	manifest, err := p.world.ShootManifest(wanted)
	if err == nil {
		err = p.garden.Create(t.Context(), manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.eventually(t, "the shoot is well", func(ctx context.Context) error { return p.isWell(ctx, wanted.Name) })
}

func (p *inProcess) isWell(ctx context.Context, name string) error {
	shoot := &gardencorev1beta1.Shoot{}
	if err := p.garden.Get(ctx, p.world.ShootKey(name), shoot); err != nil {
		return err
	}
	if last := shoot.Status.LastOperation; last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded {
		return fmt.Errorf("its last operation is %+v", last)
	}
	config, err := p.world.ConnectShoot(ctx, name, world.Observer)
	if err != nil {
		return err
	}
	return ask(ctx, config)
}

func (p *inProcess) eventually(t *testing.T, what string, look looked) {
	t.Helper()
	var last error
	deadline := time.Now().Add(2 * multiplier * time.Minute)
	for ; time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if last = look(t.Context()); last == nil {
			return
		}
	}
	t.Fatalf("not in time: %s: %v", what, last)
}
