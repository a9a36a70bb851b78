package outside

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// programs are a part of the control plane that runs until it is ended, or until one of them cannot be run.
type programs struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	group  sync.WaitGroup
}

func begin(ctx context.Context) *programs {
	p := &programs{}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	return p
}

func (p *programs) run(part func(context.Context) error) {
	p.group.Go(func() {
		if err := part(p.ctx); err != nil {
			p.cancel(err)
		}
	})
}

// end ends what runs, and returns when nothing of it is left.
func (p *programs) end() {
	p.cancel(nil)
	p.group.Wait()
}

// serve runs the control plane until it is handed over. The API server ends before the epoch does, and etcd after it.
func (r *run) serve(ctx context.Context, handOver string) error {
	store := begin(ctx)
	defer store.end()
	store.run(func(ctx context.Context) error { return r.pod(ctx, workload.Etcd) })
	ready := fmt.Sprintf("http://%s:%d/readyz", r.of.Address, workload.PortGuard)
	if err := r.await(store.ctx, "etcd, with its data from the bucket", ready, http.DefaultClient); err != nil {
		return err
	}
	clients := begin(store.ctx)
	defer clients.end()
	if err := r.serveClients(clients); err != nil {
		return err
	}
	if handOver == "" {
		r.of.Say("It stays here until a seed is to get it, by the same command with --hand-over.")
	}
	seed, err := r.untilAsked(clients.ctx, handOver)
	if err != nil {
		return err
	}
	r.of.Say("Seed %q is ready: the control plane is handed over.", seed)
	clients.end()
	if err := r.release(store.ctx); err != nil {
		return err
	}
	if err := r.bind(ctx, seed); err != nil {
		return err
	}
	r.given = false
	store.end()
	return r.awaitRestored(ctx, seed)
}

func (r *run) serveClients(clients *programs) error {
	clients.run(func(ctx context.Context) error { return r.pod(ctx, workload.KubeAPIServer) })
	asker, err := r.asker(clients.ctx)
	if err != nil {
		return err
	}
	ready := fmt.Sprintf("https://%s:%d/readyz", r.of.Address, workload.PortAPIServer)
	if err := r.await(clients.ctx, "the API server", ready, asker); err != nil {
		return err
	}
	entry, err := (&secrets.Secrets{Scope: r.Scope}).Data(clients.ctx, access.Gateway.Secret())
	if err != nil {
		return err
	}
	guard := etcd.Guard{URL: r.guard.URL, Credentials: access.FromSecret(entry)}
	clients.run(func(ctx context.Context) error { return r.of.Entry.Carry(ctx, r.Hosts(), guard) })
	for _, controllers := range []string{workload.ControllerManager, workload.Scheduler} {
		clients.run(func(ctx context.Context) error { return r.pod(ctx, controllers) })
	}
	owner := ownership.Record{Owner: string(r.SeedObject.UID), Epoch: r.Epoch, Seed: constants.SeedOutside}
	err = r.untilThere(clients.ctx, func(ctx context.Context) error {
		if err := r.of.Entry.Publish(ctx, r.Namespace(), r.Hosts(), owner); err != nil {
			return &awayError{"DNS, which is to lead to the API server,", err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.of.Say("The API server of %s is reached by %s.", r.key, r.APIServerHost())
	return nil
}

// asker asks the API server at its own address.
func (r *run) asker(ctx context.Context) (*http.Client, error) {
	ca, err := (&secrets.Secrets{Scope: r.Scope}).Data(ctx, secrets.CA)
	if err != nil {
		return nil, err
	}
	config := &rest.Config{Timeout: readPatience}
	config.CAData, config.ServerName = ca[secrets.KeyCACert], workload.ServiceKubeAPIServer
	return rest.HTTPClientFor(config)
}

// readPatience bounds one question whether a program is ready.
const readPatience = 5 * time.Second

// await waits until a program is ready, without a bound: what it waits for may be a bucket that is away.
func (r *run) await(ctx context.Context, what, url string, asker *http.Client) error {
	began, said := r.Clock.Now(), false
	for {
		err := answers(ctx, url, asker)
		if err == nil {
			r.of.Say("%s is ready after %s.", what, r.Clock.Since(began).Round(poll/10))
			return nil
		}
		if !said && r.Clock.Since(began) > patience {
			said = true
			r.of.Say("Still waiting for %s; the logs say why.", what)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", what, context.Cause(ctx), err)
		case <-r.Clock.After(poll / 5):
		}
	}
}

// patience is after how long a wait is worth a word.
const patience = 30 * time.Second

func answers(ctx context.Context, url string, asker *http.Client) error {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := asker.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}

// HandOver hands a control plane over that runs outside any seed already, and answers; false if none does. It returns
// when the seed has it.
func (r *Restore) HandOver(ctx context.Context, key types.NamespacedName, seed string) (handed bool, err error) {
	one := r.on(key)
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, key, shoot); err != nil {
		return false, fmt.Errorf("read shoot %q in the garden: %w", key, err)
	}
	if seed == "" || ptr.Deref(shoot.Status.SeedName, "") != constants.SeedOutside || r.Hear.Hear(ctx, shoot) != nil {
		return false, nil
	}
	if err := r.checkHandOver(ctx, key, seed); err != nil {
		return true, err
	}
	if err := patch.Object(ctx, r.Garden, shoot, func() {
		metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.HandOver, seed)
	}); err != nil {
		return true, fmt.Errorf("ask for the hand-over of shoot %q: %w", key, err)
	}
	r.Say("The control plane of %s, which runs outside any seed, is asked to go to seed %q.", key, seed)
	return true, one.awaitRestored(ctx, seed)
}

// errTaken says that the shoot was given to somebody else.
var errTaken = errors.New("the shoot was taken from here")

// untilAsked waits until a seed is to get the control plane, and is ready for it.
func (r *run) untilAsked(ctx context.Context, handOver string) (seed string, err error) {
	for said := ""; ; {
		seed, ready, err := r.asked(ctx, handOver)
		switch {
		case errors.Is(err, errTaken):
			return "", err
		case errors.Is(err, errMisfit) && err.Error() != said:
			said = err.Error()
			r.of.Say("It stays here until it can go elsewhere: %v.", err)
		case errors.Is(err, errMisfit):
		case err != nil:
			r.Log.Error(err, "Nobody knows whether the control plane is to be handed over; it goes on")
		case ready:
			return seed, nil
		case seed != said:
			said = seed
			r.of.Say("The control plane is handed over to seed %q as soon as that is ready.", seed)
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("run the control plane of %s: %w", r.key, context.Cause(ctx))
		case <-r.Clock.After(poll):
		}
	}
}

func (r *run) asked(ctx context.Context, handOver string) (seed string, ready bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, r.key, shoot); err != nil {
		return "", false, fmt.Errorf("read the shoot: %w", err)
	}
	if now := ptr.Deref(shoot.Status.SeedName, ""); now != constants.SeedOutside {
		return "", false, fmt.Errorf("%w: it is on seed %q", errTaken, now)
	}
	owner, _, err := r.Owners.Decision(r.OwnerRecordName()).Read(ctx)
	if err == nil && owner.Epoch > r.Epoch {
		return "", false, fmt.Errorf("%w: seed %q owns it by DNS, in epoch %d", errTaken, owner.Seed, owner.Epoch)
	}
	if seed = shoot.Annotations[constants.HandOver]; seed == "" {
		seed = handOver
	}
	if seed == "" {
		return "", false, nil
	}
	if ready, err = r.reports(ctx, seed); ready && err == nil {
		err = r.of.checkHandOver(ctx, r.key, seed)
	}
	return seed, ready, err
}

// release ends the epoch, with a final snapshot of all that it has acknowledged (docs/ownership.md#o11).
func (r *run) release(ctx context.Context) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, releasePatience)
		err := r.of.Release.Release(bounded, r.guard, r.Epoch)
		cancel()
		if err == nil {
			r.of.Say("Epoch %d has ended, and its final snapshot is in bucket %s.", r.Epoch, r.bucket)
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("end epoch %d: %w", r.Epoch, err)
		}
		r.of.Say("Epoch %d cannot be ended yet, which is tried again: %v.", r.Epoch, err)
	}
}

// bind lets a seed restore the shoot without the help of this place, which has nothing to add: the rest is what becomes
// of every shoot whose seed is no more (docs/ownership.md#spec-9-3).
func (r *run) bind(ctx context.Context, seed string) error {
	err := retry.RetryOnConflict(objects.ConflictBackoff, func() error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := r.Garden.Get(ctx, r.key, shoot); err != nil {
			return err
		}
		if err := patch.LockedStatus(ctx, r.Garden, shoot, func() {
			shoot.Status.LastOperation = r.operation(gardencorev1beta1.LastOperationStateAborted,
				fmt.Sprintf("The control plane outside any seed has ended its epoch: seed %q is to restore it.", seed))
		}); err != nil {
			return err
		}
		return patch.LockedObject(ctx, r.Garden, shoot, func() {
			shoot.Spec.SeedName = &seed
			delete(shoot.Annotations, constants.HandOver)
			metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.ShootForceRestore, constants.LabelTrue)
		})
	})
	if err != nil {
		return fmt.Errorf("bind the shoot to seed %q: %w", seed, err)
	}
	return nil
}

func (r *run) awaitRestored(ctx context.Context, seed string) error {
	for {
		shoot := &gardencorev1beta1.Shoot{}
		err := r.Garden.Get(ctx, r.key, shoot)
		last := shoot.Status.LastOperation
		if err == nil && ptr.Deref(shoot.Status.SeedName, "") == seed && last != nil &&
			last.Type != gardencorev1beta1.LastOperationTypeMigrate &&
			last.State == gardencorev1beta1.LastOperationStateSucceeded {
			r.of.Say("Seed %q has restored %s. Nothing of it is left here.", seed, r.key)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until seed %q has restored the shoot: %w", seed, context.Cause(ctx))
		case <-r.Clock.After(poll):
		}
	}
}
