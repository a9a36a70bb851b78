package extension

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Where the guard of a shoot is found in its control-plane namespace.
const (
	etcdStatefulSet = "etcd-main"
	etcdService     = "etcd-main-client"
	guardPort       = 2381
)

// ErrNoEpoch says that nothing tells under which epoch a namespace may be acted for.
var ErrNoEpoch = errors.New("the namespace has no owner epoch")

// Fence makes an extension a holder (SPEC 9.2 O8).
type Fence interface {
	// Hold derives a context under which the cloud may be called for the shoot of a control-plane namespace: it carries
	// shoot and epoch, and is cancelled with cause ownership.ErrLapsed when validity ends. It fails with an error that
	// is ownership.ErrLapsed while there is no validity, and ErrNoEpoch if there never was any.
	Hold(ctx context.Context, namespace string) (context.Context, context.CancelFunc, error)
}

// GuardFence asks the guards of the shoots on this seed. Where a shoot has no etcd, because it is not there yet, no
// more, or asleep, the epoch that the gardenlet has claimed and written on the namespace counts.
type GuardFence struct {
	Seed  client.Reader
	Clock ownership.Clock
	// Name begins the name of the holder of each shoot. It must be another one after a restart.
	Name string
	// Interval is how often a guard is asked while its shoot is worked on; Idle is how long after that it still is.
	Interval, Idle time.Duration
	// Address gives the base URL of the guard behind a Service; nil means its cluster IP and the guard's port.
	Address func(*corev1.Service) string

	mu      sync.Mutex
	holders map[string]*heldShoot
}

// heldShoot is the holder of one shoot, alive while the shoot is worked on.
type heldShoot struct {
	*ownership.Holder
	calls   calls
	cancel  context.CancelFunc
	address string
	used    ownership.Instant
}

var _ Fence = &GuardFence{}

// Hold implements Fence.
func (f *GuardFence) Hold(ctx context.Context, namespace string) (context.Context, context.CancelFunc, error) {
	address, err := f.guard(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	if address == "" {
		epoch, err := f.claimed(ctx, namespace)
		if err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		return withGrant(ctx, namespace, epoch, &grant{}), cancel, nil
	}
	held, err := f.holder(namespace, address)
	if err != nil {
		return nil, nil, err
	}
	term := held.Term()
	if !term.Valid() {
		if err := held.Ask(ctx); err != nil {
			return nil, nil, errors.Join(ownership.ErrLapsed, err)
		}
		term = held.Term()
	}
	ctx, cancel := term.Context(ctx)
	return withGrant(ctx, namespace, term.Epoch(), &grant{term: term, calls: &held.calls}), cancel, nil
}

// guard is the address of the guard of the shoot, empty if the shoot has no etcd that runs or is to run.
func (f *GuardFence) guard(ctx context.Context, namespace string) (string, error) {
	etcd := &appsv1.StatefulSet{}
	err := f.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: etcdStatefulSet}, etcd)
	if apierrors.IsNotFound(err) || (err == nil && ptr.Deref(etcd.Spec.Replicas, 1) == 0) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the etcd of %q: %w", namespace, err)
	}
	service := &corev1.Service{}
	if err := f.Seed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: etcdService}, service); err != nil {
		return "", fmt.Errorf("look for the guard of %q: %w", namespace, err)
	}
	if f.Address != nil {
		return f.Address(service), nil
	}
	return fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, guardPort), nil
}

func (f *GuardFence) claimed(ctx context.Context, namespace string) (int64, error) {
	object := &corev1.Namespace{}
	if err := f.Seed.Get(ctx, client.ObjectKey{Name: namespace}, object); apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("%w: there is no namespace %q", ErrNoEpoch, namespace)
	} else if err != nil {
		return 0, fmt.Errorf("read the claimed epoch of %q: %w", namespace, err)
	}
	epoch, err := strconv.ParseInt(object.Annotations[constants.OwnershipEpoch], 10, 64)
	if err != nil || epoch <= 0 {
		return 0, fmt.Errorf("%w: annotation %q of %q is %q", ErrNoEpoch, constants.OwnershipEpoch, namespace, object.Annotations[constants.OwnershipEpoch])
	}
	return epoch, nil
}

// holder is the one for the shoot, begun if need be. It asks on by itself, so that a lapse or a revocation reaches
// work under way, and ends when the shoot has not been worked on for a while.
func (f *GuardFence) holder(namespace, address string) (*heldShoot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held, ok := f.holders[namespace]
	if ok && held.address == address {
		held.used = f.Clock.Now()
		return held, nil
	}
	holder, err := ownership.NewHolder(address, f.Name+"/"+namespace, f.Clock, nil)
	if err != nil {
		return nil, err
	}
	if ok {
		held.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	held = &heldShoot{Holder: holder, cancel: cancel, address: address, used: f.Clock.Now()}
	if f.holders == nil {
		f.holders = map[string]*heldShoot{}
	}
	f.holders[namespace] = held
	go held.Run(ctx, f.Interval, held.calls.wait)
	go f.retire(ctx, namespace, held)
	return held, nil
}

func (f *GuardFence) retire(ctx context.Context, namespace string, held *heldShoot) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.Clock.After(f.Idle):
		}
		f.mu.Lock()
		idle := f.Clock.Now().Sub(held.used) >= f.Idle && held.calls.none()
		if idle && f.holders[namespace] == held {
			delete(f.holders, namespace)
		}
		f.mu.Unlock()
		if idle {
			held.cancel()
			return
		}
	}
}

// Close ends all holders.
func (f *GuardFence) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for namespace, held := range f.holders {
		held.cancel()
		delete(f.holders, namespace)
	}
}

func withGrant(ctx context.Context, shoot string, epoch int64, g *grant) context.Context {
	ctx = cloud.WithScope(ctx, cloud.Scope{Shoot: shoot, Epoch: epoch})
	return context.WithValue(ctx, grantKey{}, g)
}
