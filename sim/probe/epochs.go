package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Epochs asks every control plane of a shoot, wherever there is one, whether it is valid, and at which revision its
// store is. It asks past every link and is no holder: what it hears gives nobody validity.
type Epochs struct {
	Shoot string
	World world.Shoots

	mu      sync.Mutex
	clients map[string]kubernetes.Interface // by address
}

var _ Probe = &Epochs{}

// Name of the probe.
func (e *Epochs) Name() string { return timeline.EpochsOf(e.Shoot) }

// Pace is twice a second.
func (e *Epochs) Pace() Pace {
	return Pace{Every: 500 * time.Millisecond, Timeout: 3 * time.Second, Overlap: 3}
}

// Sample asks all of them at once.
func (e *Epochs) Sample(ctx context.Context, to timeline.Recorder) error {
	planes, err := e.World.ControlPlanes(ctx, e.Shoot)
	errs := []error{err}
	var mu sync.Mutex
	var questions sync.WaitGroup
	for _, plane := range planes {
		questions.Go(func() {
			if err := e.ask(ctx, to, plane); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("ask the control plane on seed %q: %w", plane.Seed, err))
			}
		})
	}
	questions.Wait()
	return errors.Join(errs...)
}

func (e *Epochs) ask(ctx context.Context, to timeline.Recorder, plane world.ControlPlane) error {
	seen := timeline.EpochSeen{Seed: plane.Seed, Sent: timeline.Moment(to.Now())}
	validity, err := plane.Validity(ctx)
	if err != nil {
		return err
	}
	// Validity was true at some instant before its answer, so that a slow look at the revision must not stretch it.
	seen.Answered = timeline.Moment(to.Now())
	seen.Epoch, seen.State, seen.Remaining = validity.Epoch, validity.State, timeline.Length(validity.Remaining)
	if plane.API != nil {
		seen.Authority, seen.ShootUID = fingerprint(plane.API.CAData), string(plane.ShootUID)
		seen.Revision, err = e.revision(ctx, plane.API)
	}
	to.Record(timeline.Event{Actor: world.Observer, Subject: e.Shoot, Payload: seen})
	return err
}

// fingerprint of a certificate authority; empty if there is none.
func fingerprint(authority []byte) string {
	if len(authority) == 0 {
		return ""
	}
	sum := sha256.Sum256(authority)
	return hex.EncodeToString(sum[:8])
}

// revision of the store, as a list through the API server shows it.
func (e *Epochs) revision(ctx context.Context, config *rest.Config) (int64, error) {
	client, err := e.client(config)
	if err != nil {
		return 0, err
	}
	list := &corev1.ConfigMapList{}
	if err := client.CoreV1().RESTClient().Get().Namespace(Namespace).Resource("configmaps").MaxRetries(0).
		Param("limit", "1").Do(ctx).Into(list); err != nil {
		return 0, fmt.Errorf("read the revision: %w", err)
	}
	return access.VersionOf(list.ResourceVersion), nil
}

func (e *Epochs) client(config *rest.Config) (kubernetes.Interface, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if client, kept := e.clients[config.Host]; kept {
		return client, nil
	}
	client, err := access.Steady(access.Compact(config))
	if err != nil {
		return nil, err
	}
	if e.clients == nil {
		e.clients = map[string]kubernetes.Interface{}
	}
	e.clients[config.Host] = client
	return client, nil
}
