// Package fence lets an extension call the cloud for a shoot only while the ownership of the shoot is valid
// (docs/ownership.md#o8). It asks the shoot's guard, or, if no guard runs, reads the owner record in DNS
// (docs/adr/0013). Each mutating call is checked again when it is sent.
//
// It makes nobody owner, and knows no kind of extension.
package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// Where the guard of a shoot is found in its control-plane namespace.
const (
	etcdStatefulSet = "etcd-main"
	etcdPod         = etcdStatefulSet + "-0"
	etcdService     = access.ServerName
)

// ErrNoEpoch says that it is not known under which epoch a namespace may be acted for, because it is not there.
var ErrNoEpoch = errors.New("the namespace has no owner epoch")

// Fence makes an extension a holder (docs/ownership.md#o8).
type Fence interface {
	// Hold derives a context under which the cloud may be called for the shoot of a control-plane namespace: it carries
	// shoot and epoch, and is cancelled with cause validity.ErrLapsed when validity ends. It fails with an error that
	// is validity.ErrLapsed while there is no validity, and ErrNoEpoch if there is no such namespace.
	Hold(ctx context.Context, namespace string) (context.Context, context.CancelFunc, error)
}

// GuardFence asks the guards of the shoots on this seed. Where surely no guard runs, because the shoot has no etcd yet,
// no more, or sleeps, it reads the decision itself, as a guard would (docs/adr/0013).
type GuardFence struct {
	// Seed reads from the API server, never from a cache: whether a guard runs has to be true after the read began.
	Seed  client.Reader
	Clock ownership.Clock
	// Name begins the name of the holder of each shoot. It must be another one after a restart.
	Name string
	// Timing is that of the guards: Interval is how often a guard, or the decision, is asked while a shoot is worked on,
	// Timeout how long a read of the decision gives validity.
	Timing ownership.Timing
	// Idle is how long it is still asked after that.
	Idle time.Duration
	// Decision is the owner record of that name, at the primary.
	Decision func(record string) ownership.Authority
	// Address gives the base URL of the guard behind a Service; nil means its cluster IP and the port of the guard's API.
	Address func(*corev1.Service) string

	mu      sync.Mutex
	holders map[string]*shootHolder
}

// holding is the validity of a shoot's ownership: a guard's, or that of the decision where no guard runs.
type holding interface {
	// Term is the present stretch of validity, possibly over.
	Term() *validity.Term
	// Ask asks once, and says why there is no validity.
	Ask(ctx context.Context) error
	// Run asks on until ctx is done, or nothing is given any more. It calls revoked when a guard has taken back what it
	// gave.
	Run(ctx context.Context, interval time.Duration, revoked func())
}

var _ holding = &validity.Holder{}

// shootHolder is the holder of one shoot, alive while the shoot is worked on.
type shootHolder struct {
	holding
	calls  calls
	cancel context.CancelFunc
	by     source
	used   ownership.Instant
}

var _ Fence = &GuardFence{}

// Hold implements Fence.
func (f *GuardFence) Hold(ctx context.Context, namespace string) (context.Context, context.CancelFunc, error) {
	by, err := f.source(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	holder, err := f.holder(namespace, by)
	if err != nil {
		return nil, nil, err
	}
	term := holder.Term()
	if !term.Valid() {
		if err := holder.Ask(ctx); err != nil {
			return nil, nil, errors.Join(validity.ErrLapsed, err)
		}
		term = holder.Term()
	}
	ctx, cancel := term.Context(ctx)
	return withGrant(ctx, namespace, term.Epoch(), &grant{term: term, calls: &holder.calls}), cancel, nil
}

// source is where validity comes from: the address of a guard, or else what the gardenlet has claimed.
type source struct {
	guard string
	claim claim
}

func (f *GuardFence) source(ctx context.Context, namespace string) (source, error) {
	address, rest, err := f.guard(ctx, namespace)
	if apierrors.IsForbidden(err) {
		return source{}, f.forbidden(ctx, namespace, err)
	}
	if err != nil || address != "" {
		return source{guard: address}, err
	}
	claim, err := f.claimed(ctx, namespace)
	claim.rest = rest
	return source{claim: claim}, err
}

// forbidden says why this extension may not look into a namespace: it has gone, and with it what the extension may do
// there, or the gardenlet has not let the extension work in it.
func (f *GuardFence) forbidden(ctx context.Context, namespace string, err error) error {
	if _, gone := f.claimed(ctx, namespace); errors.Is(gone, ErrNoEpoch) {
		return gone
	}
	return fmt.Errorf("namespace %q grants this extension nothing, so it is no control plane's: %w", namespace, err)
}

// guard is the address of the guard of the shoot. It is empty if no etcd is to run and none ends: rest then
// identifies this rest of etcd: between it and another a guard may have run.
func (f *GuardFence) guard(ctx context.Context, namespace string) (address, rest string, err error) {
	etcd := &appsv1.StatefulSet{}
	err = f.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: etcdStatefulSet}, etcd)
	if apierrors.IsNotFound(err) {
		return "", "", nil // it goes after its pod
	}
	if err == nil && ptr.Deref(etcd.Spec.Replicas, 1) == 0 {
		err = f.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: etcdPod}, &corev1.Pod{})
		if apierrors.IsNotFound(err) {
			return "", fmt.Sprintf("%s/%d", etcd.UID, etcd.Generation), nil
		}
	}
	if err != nil {
		return "", "", fmt.Errorf("look for the etcd of %q: %w", namespace, err)
	}
	service := &corev1.Service{}
	if err := f.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: etcdService}, service); err != nil {
		return "", "", fmt.Errorf("look for the guard of %q: %w", namespace, err)
	}
	if f.Address != nil {
		return f.Address(service), "", nil
	}
	return fmt.Sprintf("https://%s:%d", service.Spec.ClusterIP, access.GuardPort), "", nil
}

// holder is the holder of the shoot, begun if need be. It asks on by itself, so that a lapse or a revocation reaches
// work under way, and ends when the shoot has not been worked on for a while.
func (f *GuardFence) holder(namespace string, by source) (*shootHolder, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	holder, ok := f.holders[namespace]
	if ok && holder.by == by {
		holder.used = f.Clock.Now()
		return holder, nil
	}
	valid, err := f.begin(namespace, by)
	if err != nil {
		return nil, err
	}
	if ok {
		holder.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	holder = &shootHolder{holding: valid, cancel: cancel, by: by, used: f.Clock.Now()}
	if f.holders == nil {
		f.holders = map[string]*shootHolder{}
	}
	f.holders[namespace] = holder
	go func() {
		defer f.drop(namespace, holder)
		holder.Run(ctx, f.Timing.Interval, holder.calls.wait)
	}()
	go f.retire(ctx, namespace, holder)
	return holder, nil
}

// drop forgets a holder that asks no more: the next to hold the shoot begins another.
func (f *GuardFence) drop(namespace string, holder *shootHolder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	holder.cancel()
	if f.holders[namespace] == holder {
		delete(f.holders, namespace)
	}
}

func (f *GuardFence) begin(namespace string, by source) (holding, error) {
	if by.guard == "" {
		return f.decided(namespace, by.claim)
	}
	transport := access.Transport(func(ctx context.Context) (access.Credentials, error) {
		secret := &corev1.Secret{}
		err := f.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: access.Extensions.Secret()}, secret)
		if err != nil {
			return access.Credentials{}, fmt.Errorf("read the credentials for the guard of %q: %w", namespace, err)
		}
		return access.FromSecret(secret.Data), nil
	})
	return validity.NewHolder(by.guard, f.Name+"/"+namespace, f.Clock, transport)
}

func (f *GuardFence) retire(ctx context.Context, namespace string, holder *shootHolder) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.Clock.After(f.Idle):
		}
		f.mu.Lock()
		idle := f.Clock.Now().Sub(holder.used) >= f.Idle && holder.calls.none()
		f.mu.Unlock()
		if idle {
			f.drop(namespace, holder)
			return
		}
	}
}

// Close ends all holders.
func (f *GuardFence) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for namespace, holder := range f.holders {
		holder.cancel()
		delete(f.holders, namespace)
	}
}

func withGrant(ctx context.Context, shoot string, epoch int64, g *grant) context.Context {
	ctx = cloud.WithScope(ctx, cloud.Scope{Shoot: shoot, Epoch: epoch})
	return context.WithValue(ctx, grantKey{}, g)
}

// WithoutTerm derives a context for calls in an epoch that no guard confirms any more: those about what has outlived
// the namespace of its shoot. If the shoot has another owner since, the cloud refuses them.
func WithoutTerm(ctx context.Context, shoot string, epoch int64) context.Context {
	return withGrant(ctx, shoot, epoch, &grant{})
}
