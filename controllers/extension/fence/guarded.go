package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// validityRetry is the pause before an object is looked at again whose shoot this seed cannot prove to own.
const validityRetry = 300 * time.Millisecond

// staleRetry is the pause where the cloud has refused an epoch: another owner's turn does not end soon.
const staleRetry = 5 * time.Second

// CallTimeout bounds one call of the cloud or of the seed, so that one that was swallowed does not hold up an object.
const CallTimeout = 30 * time.Second

// grant is what a hold allows: calls under one term. Only the backups of a shoot whose namespace is gone are deleted
// without.
type grant struct {
	term  *validity.Term
	calls *calls
}

type grantKey struct{}

// begin says whether a call may be sent now; if so, done must be called when it is over.
func (g *grant) begin() (done func(), err error) {
	if g.term == nil {
		return func() {}, nil
	}
	g.calls.add(1)
	if !g.term.Valid() {
		g.calls.add(-1)
		return nil, validity.ErrLapsed
	}
	return func() { g.calls.add(-1) }, nil
}

// calls counts those under way, so that a revocation is confirmed only when none is left. The zero value has none.
type calls struct {
	mu    sync.Mutex
	count int
	idle  chan struct{}
}

func (c *calls) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == 0 {
		c.idle = make(chan struct{})
	}
	if c.count += n; c.count == 0 {
		close(c.idle)
	}
}

func (c *calls) none() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count == 0
}

// wait returns when no call is under way. Their contexts have been cancelled by then, so that is soon.
func (c *calls) wait() {
	c.mu.Lock()
	idle := c.idle
	none := c.count == 0
	c.mu.Unlock()
	if !none {
		<-idle
	}
}

// Guarded makes a client of the cloud that sends no mutating call for a shoot unless the call's context holds the shoot
// validly at that moment (docs/ownership.md#o8).
func Guarded(config *rest.Config) (*cloud.Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = cmp.Or(config.Timeout, CallTimeout)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return guardedTransport{next} })
	return cloud.New(config, cloud.Options{})
}

type guardedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t guardedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || request.Header.Get(cloud.HeaderShoot) == "" {
		return t.next.RoundTrip(request)
	}
	g, ok := request.Context().Value(grantKey{}).(*grant)
	if !ok {
		return nil, fmt.Errorf("%s %s without holding the shoot %q", request.Method, request.URL.Path,
			request.Header.Get(cloud.HeaderShoot))
	}
	done, err := g.begin()
	if err != nil {
		return nil, err
	}
	answer, err := t.next.RoundTrip(request)
	if err != nil {
		done()
		return nil, err
	}
	answer.Body = underWay{answer.Body, sync.OnceFunc(done)}
	return answer, nil
}

// underWay is an answer that still comes: the call is over when it is closed. That to a batch begins before all parts
// are done.
type underWay struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (u underWay) Close() error {
	defer u.done()
	return u.ReadCloser.Close()
}

// Owned lets an act run while the ownership of its shoot is valid. Without validity it waits: that is no failure of the
// object, and only the owner can do anything about it. It waits, too, if the cloud knows a newer epoch, which only a
// newer owner can have given it.
func Owned[T extensionsv1alpha1.Object](fence Fence, namespace func(T) string, act contract.Act[T]) contract.Act[T] {
	return func(ctx context.Context, log logr.Logger, obj T, cluster *contract.Cluster) error {
		owning, release, err := fence.Hold(ctx, namespace(obj))
		if reason, known := errors.AsType[*lapseError](err); known {
			return contract.WaitingFor(validityRetry, "a valid ownership of the shoot: %s", reason.why)
		}
		if errors.Is(err, validity.ErrLapsed) {
			return contract.WaitingFor(validityRetry, "a valid ownership of the shoot")
		}
		if err != nil {
			return err
		}
		defer release()
		err = act(owning, log, obj, cluster)
		switch {
		case err == nil:
			return nil
		case cloud.IsStaleEpoch(err):
			scope, _ := cloud.ScopeFrom(owning)
			log.V(1).Info("The cloud knows a newer owner of the shoot", "reason", err.Error())
			return contract.WaitingFor(staleRetry, "the ownership of the shoot: the cloud knows a newer epoch than %d",
				scope.Epoch)
		case errors.Is(err, validity.ErrLapsed) || errors.Is(context.Cause(owning), validity.ErrLapsed):
			log.Info("The ownership lapsed during an operation, which was cancelled", "reason", err.Error())
			return contract.WaitingFor(validityRetry, "a valid ownership of the shoot")
		}
		return Classify(err)
	}
}

// OwnNamespace is that of an object which is in the control-plane namespace of its shoot.
func OwnNamespace[T extensionsv1alpha1.Object](obj T) string { return obj.GetNamespace() }

// Tags mark a cloud resource as the shoot's, made in an epoch.
func Tags(ctx context.Context) map[string]string {
	scope, _ := cloud.ScopeFrom(ctx)
	return map[string]string{tagShoot: scope.Shoot, tagEpoch: fmt.Sprint(scope.Epoch)}
}

// ShootTag finds the cloud resources of the shoot, of whatever epoch.
func ShootTag(ctx context.Context) cloud.Filter {
	scope, _ := cloud.ScopeFrom(ctx)
	return cloud.Filter{Tags: map[string]string{tagShoot: scope.Shoot}}
}

// Tags of cloud resources.
const (
	tagShoot = "transplant.dev/shoot"
	tagEpoch = "transplant.dev/epoch"
)
