package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/sim/world"
)

// The access in the garden may be that of a deleted shoot of the same name: whose it is has to be known.
func TestControlPlane_AccessOfAShoot_NamesTheShoot(t *testing.T) {
	t.Parallel()
	runs := func(role, address string) client.Object {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: "shoot--p--alpha", Labels: map[string]string{"role": role}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
		}
	}
	o := &Observer{Landscape: &embedded.Landscape{}, guards: &guards{}, SeedClients: map[string]client.Client{
		"a": fake.NewClientBuilder().WithObjects(runs("etcd-main", "127.0.0.7"), runs("kube-apiserver", "127.0.0.8")).Build(),
	}}
	access := &corev1.Secret{Data: map[string][]byte{"ca.crt": []byte("ca")}}
	for _, want := range []types.UID{"", "u-2"} {
		if want != "" {
			access.OwnerReferences = []metav1.OwnerReference{{Kind: "Project", UID: "u-1"}, {Kind: "Shoot", UID: want}}
		}
		plane, err := o.controlPlane(t.Context(), "a", "alpha", access)
		if err != nil || plane == nil || plane.API == nil {
			t.Fatalf("%+v, %v", plane, err)
		}
		if plane.ShootUID != want || string(plane.API.CAData) != "ca" || plane.API.Host != "https://127.0.0.8:6443" {
			t.Errorf("Shoot %q at %s, want %q", plane.ShootUID, plane.API.Host, want)
		}
	}
}

// A seed that never answers leaves time to ask the control planes that were found elsewhere.
func TestControlPlane_SeedNeverAnswers_LeavesTime(t *testing.T) {
	t.Parallel()
	silent := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			<-ctx.Done()
			return ctx.Err()
		}})
	o := &Observer{Landscape: &embedded.Landscape{}, guards: &guards{}, SeedClients: map[string]client.Client{"a": silent}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		plane, err := o.controlPlane(ctx, "a", "alpha", &corev1.Secret{})
		if plane != nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%+v, %v, time left: %t", plane, err, ctx.Err() == nil)
		}
	})
}

// answering is the way to a guard.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// What is no answer of a guard is unknown, not epoch 0.
func TestValidityIsWhatAGuardSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code       int
		body, want string
	}{
		"a guard": {code: http.StatusOK, body: `{"owner":"u","epoch":2,"state":"Serving","remaining":"3s"}`},
		"an error": {code: http.StatusServiceUnavailable, body: `{"message":"no"}`,
			want: "ask the guard: it answers 503 Service Unavailable"},
		"an error of epoch": {code: http.StatusInternalServerError, body: `{"epoch":2}`,
			want: "ask the guard: it answers 500 Internal Server Error"},
		"somebody else": {code: http.StatusOK, body: `{"kind":"Status"}`,
			want: "read the guard's answer: it names no epoch"},
		"no JSON": {code: http.StatusOK, body: `ok`, want: "read the guard's answer: invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			g := &guards{landscape: &embedded.Landscape{}}
			g.clients.Store(guardKey{"a", "shoot--p--alpha"},
				&http.Client{Transport: answering(func(r *http.Request) *http.Response {
					asked = r.URL.String()
					return &http.Response{StatusCode: c.code, Status: fmt.Sprintf("%d %s", c.code, http.StatusText(c.code)),
						Body: io.NopCloser(strings.NewReader(c.body)), Request: r}
				})})
			got, err := g.validityOf("a", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha"},
				Status: corev1.PodStatus{PodIP: "127.0.0.9"}})(t.Context())
			if asked != "https://127.0.0.9:2382/state" {
				t.Errorf("asked %s", asked)
			}
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %+v, %v, want %q", got, err, c.want)
				}
				return
			}
			if diff := cmp.Diff(world.Validity{State: "Serving", Owner: "u", Epoch: 2, Remaining: 3 * time.Second},
				got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
