package fence

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/extensiontest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const technicalID = "shoot--p--alpha"

func infrastructureObject() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID, Name: "alpha"}}
}

// fakeGuard answers for validity as the test sets it.
type fakeGuard struct {
	mu      sync.Mutex
	answer  validity.Answer
	fenced  chan struct{} // closed when the guard is fenced
	revoked chan struct{} // closed when a holder has confirmed
}

func newGuard(t *testing.T, epoch int64) (*fakeGuard, string) {
	t.Helper()
	g := &fakeGuard{fenced: make(chan struct{}), revoked: make(chan struct{})}
	g.set(validity.Answer{State: validity.Serving, Epoch: epoch,
		Remaining: metav1.Duration{Duration: time.Minute}})
	server := httptest.NewServer(g)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return g, server.URL
}

func (g *fakeGuard) set(answer validity.Answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = answer
}

func (g *fakeGuard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	answer := g.answer
	g.mu.Unlock()
	switch r.URL.Path {
	case validity.PathValidity:
		_ = json.NewEncoder(w).Encode(answer)
	case validity.PathRevocation:
		select {
		case <-g.fenced:
			_ = json.NewEncoder(w).Encode(validity.FenceAnswer{Epoch: answer.Epoch, Fenced: true})
		case <-r.Context().Done():
		}
	case validity.PathRevoked:
		close(g.revoked)
	}
}

func guardedSeed(t *testing.T, replicas int32) client.Client {
	t.Helper()
	return fake.NewClientBuilder().WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID, Annotations: map[string]string{
			"transplant.dev/epoch": "3", "transplant.dev/owner": "uid-a",
			"transplant.dev/owner-record": "owner.alpha.p.shoots.test",
		}}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID, Name: "etcd-main"},
			Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(replicas)}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID, Name: "etcd-main-client"},
			Spec: corev1.ServiceSpec{ClusterIP: "127.0.0.9"}},
	).Build()
}

func newFence(t *testing.T, replicas int32, address string) *GuardFence {
	t.Helper()
	clock, err := ownership.NewBootClock()
	if err != nil {
		t.Fatal(err)
	}
	f := &GuardFence{
		Seed: guardedSeed(t, replicas), Clock: clock, Name: "extensions-a-1", Idle: time.Minute,
		Timing:  ownership.Timing{Interval: 5 * time.Second, Timeout: time.Minute},
		Address: func(*corev1.Service) string { return address },
	}
	t.Cleanup(f.Close)
	return f
}

// TestHoldBeforeAndAfterEtcd: where no etcd runs, the epoch that the gardenlet has claimed counts as long as DNS names
// it, which is read with the client that the extension has for the cloud; else the guard's.
func TestHoldBeforeAndAfterEtcd(t *testing.T) {
	t.Parallel()
	_, address := newGuard(t, 4)
	c := cloudtest.NewLandscape(t)
	records := &ownership.CloudTXT{Client: c.Client(t)}
	if err := records.SetTXT(t.Context(), "owner.alpha.p.shoots.test", []string{"owner=uid-a epoch=3 seed=a"},
		""); err != nil {
		t.Fatal(err)
	}
	guarded, err := Guarded(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		replicas int32
		epoch    int64
	}{{0, 3}, {1, 4}} {
		fence := newFence(t, test.replicas, address)
		fence.Decision = func(record string) ownership.Authority {
			return &ownership.TXTAuthority{Records: &ownership.CloudTXT{Client: guarded}, Name: record}
		}
		ctx, release, err := fence.Hold(t.Context(), technicalID)
		if err != nil {
			t.Fatal(err)
		}
		if scope, _ := cloud.ScopeFrom(ctx); scope != (cloud.Scope{Shoot: technicalID, Epoch: test.epoch}) {
			t.Errorf("with %d replicas of etcd the scope is %+v", test.replicas, scope)
		}
		release()
	}
	if _, _, err := newFence(t, 0, "").Hold(t.Context(), "shoot--p--other"); !errors.Is(err, ErrNoEpoch) {
		t.Errorf("a namespace that does not exist gave %v", err)
	}
}

// TestLapseCancels: work under way is cancelled when the guard is fenced, no call is sent any more, the revocation is
// confirmed, and the object waits instead of failing.
func TestLapseCancels(t *testing.T) {
	t.Parallel()
	guard, address := newGuard(t, 4)
	fence := newFence(t, 1, address)
	c := cloudtest.NewLandscape(t)
	guarded, err := Guarded(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	network := &cloud.Network{CIDR: "10.0.0.0/16"}
	var early, late error
	act := Owned(fence, func(*extensionsv1alpha1.Infrastructure) string { return technicalID },
		func(ctx context.Context, _ logr.Logger, _ *extensionsv1alpha1.Infrastructure, _ *contract.Cluster) error {
			_, early = guarded.Networks().Create(ctx, network)
			close(guard.fenced)
			<-ctx.Done()
			_, late = guarded.Networks().Create(context.WithoutCancel(ctx), network)
			return ctx.Err()
		})
	err = act(t.Context(), logr.Discard(), infrastructureObject(), nil)
	if pending := (&contract.Pending{}); !errors.As(err, &pending) {
		t.Errorf("the object does not wait: %v", err)
	}
	if early != nil || !errors.Is(late, validity.ErrLapsed) {
		t.Errorf("the call before the lapse: %v; after it: %v", early, late)
	}
	if networks := c.IDs(cloud.KindNetworks); len(networks) != 1 {
		t.Errorf("networks: %v", networks)
	}
	select {
	case <-guard.revoked:
	case <-time.After(time.Minute):
		t.Error("the revocation was not confirmed")
	}
}

// TestNoValidityWaits: without validity nothing is begun, and the object waits.
func TestNoValidityWaits(t *testing.T) {
	t.Parallel()
	guard, address := newGuard(t, 4)
	guard.set(validity.Answer{State: "Waiting", Epoch: 4})
	act := Owned(newFence(t, 1, address), OwnNamespace[*extensionsv1alpha1.Infrastructure],
		func(context.Context, logr.Logger, *extensionsv1alpha1.Infrastructure, *contract.Cluster) error {
			t.Error("the act was begun")
			return nil
		})
	err := act(t.Context(), logr.Discard(), infrastructureObject(), nil)
	if pending := (&contract.Pending{}); !errors.As(err, &pending) {
		t.Errorf("the object does not wait: %v", err)
	}
}

// TestGuardedRefusesUnheld: a mutating call for a shoot that nobody holds is not sent; one for no shoot is.
func TestGuardedRefusesUnheld(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	guarded, err := Guarded(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx := cloud.WithScope(t.Context(), cloud.Scope{Shoot: technicalID, Epoch: 1})
	if _, err := guarded.Networks().Create(ctx, &cloud.Network{}); err == nil || len(c.IDs(cloud.KindNetworks)) > 0 {
		t.Errorf("an unheld call ended with %v, networks %v", err, c.IDs(cloud.KindNetworks))
	}
	if _, err := guarded.Buckets().Create(t.Context(), &cloud.Bucket{Name: "seed"}); err != nil {
		t.Errorf("a call for no shoot: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A call is under way until its answer is closed: as long no revocation is confirmed. The answer to a batch begins
// before its last part is done.
func TestGuarded_AnswerThatStillComes_IsUnderWay(t *testing.T) {
	t.Parallel()
	_, address := newGuard(t, 4)
	ctx, release, err := newFence(t, 1, address).Hold(t.Context(), technicalID)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	calls := ctx.Value(grantKey{}).(*grant).calls
	for _, fails := range []bool{false, true} {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cloud.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(cloud.HeaderShoot, technicalID)
		answer, err := guardedTransport{roundTrip(func(*http.Request) (*http.Response, error) {
			if calls.none() {
				t.Error("a call that is sent is not under way")
			}
			if fails {
				return nil, io.ErrUnexpectedEOF
			}
			return &http.Response{Body: io.NopCloser(strings.NewReader(" {}"))}, nil
		})}.RoundTrip(request)
		if (err != nil) != fails || !fails && calls.none() {
			t.Errorf("got %v; no call is under way: %t", err, calls.none())
		}
		for range 2 { // closing twice ends one call
			if !fails {
				err = answer.Body.Close()
			}
		}
		if !calls.none() {
			t.Errorf("a call is under way after its end: %v", err)
		}
	}
}

// Where the gardenlet has granted nothing nobody acts, and says why; a namespace that has gone grants nothing either.
func TestHold_NamespaceThatGrantsNothing_SaysWhy(t *testing.T) {
	t.Parallel()
	fence := newFence(t, 1, "")
	fence.Seed = extensiontest.Forbidding(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID}})
	_, _, err := fence.Hold(t.Context(), technicalID)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "grants this extension nothing") {
		t.Errorf("holding ended with %v", err)
	}
	fence.Seed = extensiontest.Forbidding()
	if _, _, err := fence.Hold(t.Context(), technicalID); !errors.Is(err, ErrNoEpoch) {
		t.Errorf("holding where there is no namespace ended with %v", err)
	}
}
