package contract

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/tap"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// emptyLedger is a cloud in which nothing was done.
type emptyLedger struct{}

func (emptyLedger) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// universeOn is one of a Network on a seed that a kit follows, without servers.
func universeOn(t *testing.T, name string) (*universe, *side) {
	t.Helper()
	extension := landscape.Extension{Name: "x", Resources: []landscape.ExtensionResource{{Kind: "Network", Type: "n"}}}
	of, err := cloud.New(&rest.Config{Host: "http://cloud.test", Transport: emptyLedger{}}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	prepared := environment.New(environment.ScenarioSettings)
	prepared.Extensions = []landscape.Extension{extension}
	subjects, _ := subjectsOf(extension, nil)
	at := &side{name: sourceName, actor: extension.ActorOn(sourceName), tap: tap.New(), managed: newObserver(),
		client:  fake.NewClientBuilder().WithScheme(environment.Scheme()).Build(),
		objects: map[string]*observer{"Network": newObserver()}}
	u := (&kit{environment: prepared, sides: []*side{at}, multiplier: 1,
		observer: ledger{of}}).newUniverse(subjects[0], name)
	at.tap.Watch(u.namespace, u.kind.Resource, "")
	return u, at
}

// A write between an answer and the next request is of the step before, however late it is.
func TestStep_LateWrite_IsOfTheStepBefore(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, contract.Clean)
	write := func(context.Context, *side) (int64, error) {
		r := httptest.NewRequest(http.MethodPatch, "/apis/extensions.gardener.cloud/v1alpha1/namespaces/"+u.namespace+
			"/networks/contract", strings.NewReader("{}"))
		q := kubeapi.Describe(r)
		tap.ToAPI{Tap: at.tap}.Start().Serve(nil, &requests.Exchange{W: httptest.NewRecorder(), R: r, Request: &q},
			func(x *requests.Exchange) { x.W.WriteHeader(http.StatusOK) })
		return 0, nil
	}
	var got []int
	for _, name := range []string{contract.Create, contract.Reconcile, contract.Migrate} {
		if _, err := u.step(t.Context(), at, name, write, nil, 0); err != nil {
			t.Fatal(err)
		}
		if name == contract.Create {
			_, _ = write(t.Context(), at)
		}
	}
	for _, s := range u.walk.Steps {
		got = append(got, len(s.Writes))
	}
	if diff := cmp.Diff([]int{2, 1, 1}, got); diff != "" {
		t.Errorf("writes of the steps (-want +got):\n%s", diff)
	}
}

// What the kit cannot see is its error, and no finding. A watch that is there again is none.
func TestStep_ObserverFails_IsAnError(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"objects", "managed"} {
		synctest.Test(t, func(t *testing.T) {
			u, at := universeOn(t, contract.Clean)
			o := map[string]*observer{"objects": at.objects["Network"], "managed": at.managed}[broken]
			o.fails(errors.New("forbidden"))
			if _, err := u.step(t.Context(), at, contract.Create, nothing, gone, time.Second); err == nil ||
				!strings.Contains(err.Error(), "forbidden") {
				t.Errorf("%s: %v", broken, err)
			}
			time.AfterFunc(watchAgain/2, func() { o.fails(nil) })
			if err := o.works(t.Context(), watchAgain); err != nil {
				t.Errorf("%s: a watch that is there again: %v", broken, err)
			}
		})
	}
}

// Who waits for an object learns from a list, too, that it is gone.
func TestObserver_Miss_WakesWhoWaits(t *testing.T) {
	t.Parallel()
	o := newObserver()
	_, changed := o.see(client.ObjectKey{})
	if err := o.miss(nil, "1"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody is woken")
	}
}

// What the kit says of a ManagedResource does not make it one of the kit's own.
func TestItemsOfExtension_ManagedResourceWithStatus_IsOne(t *testing.T) {
	t.Parallel()
	var as client.SubResourcePatchOptions
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(environment.Scheme()).Build(), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch,
			options ...client.SubResourcePatchOption) error {
			as.ApplyOptions(options)
			return nil
		}})
	object := versionOf("1", "")
	object.SetGeneration(1)
	if err := applied(c)(t.Context(), object); err != nil || as.FieldManager == "" {
		t.Fatalf("by %q: %v", as.FieldManager, err)
	}
	const class, own = "managedresources.resources.gardener.cloud", "networks.extensions.gardener.cloud"
	got := ofExtension([]timeline.Item{
		{Class: class, Name: "theirs", Managers: []string{"program", as.FieldManager}},
		{Class: "secrets", Name: "kit's", Managers: []string{string(fieldOwner), "program"}},
		{Class: "configmaps", Name: "kube-root-ca.crt", Managers: []string{"kube-controller-manager"}},
		{Class: class, Name: "nobody's", Managers: []string{as.FieldManager}},
		{Class: own, Name: "contract", Managers: []string{"program"}},
	}, own)
	if diff := cmp.Diff([]contract.Item{{Resource: class, Name: "theirs"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A point that never came to its step says nothing of crashes.
func TestPoint_NotPrepared_IsMissed(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, "crash")
	p := &point{universe: u, operation: contract.Migrate, writes: 1, failed: "create was not answered"}
	want := contract.Crash{Step: contract.Migrate, Writes: 1, Missed: true,
		Final: contract.Final{Missing: "create was not answered"}}
	if diff := cmp.Diff(want, p.crash()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.failed, p.gate = "", at.tap.Limit(u.namespace, 1)
	p.walk.Steps = []*contract.Step{{Name: contract.Create}, {Name: contract.Migrate}}
	if got := p.crash(); !got.Missed {
		t.Errorf("a point without its write is %+v", got)
	}
	p.gate = at.tap.Limit(u.namespace, 0)
	if p.writes = 0; p.crash().Missed {
		t.Error("a point that came to its step is missed")
	}
}

// An extension that has ended by itself is dead already.
func TestKill_NoProcess_IsNoError(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, "crash")
	at.cluster = &embedded.Cluster{}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: u.extension().Namespace(), Name: "leader"}}
	if err := at.client.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if err := u.kill(t.Context(), at); err != nil {
		t.Error(err)
	}
	left := &coordinationv1.LeaseList{}
	if err := at.client.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d Leases are left: %v", len(left.Items), err)
	}
}

// The kit waits at least as long as a gardenlet. What a gardenlet waits is not multiplied.
func TestWaitFor_IsTheGardenletsTimesTheMultiplier(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]time.Duration{"Infrastructure": 10 * time.Minute, "DNSRecord": 2 * time.Minute,
		"Network": 3 * time.Minute} {
		subjects, _ := subjectsOf(landscape.Extension{Resources: []landscape.ExtensionResource{{Kind: kind}}}, nil)
		if got := (&kit{multiplier: 2}).waitFor(subjects[0]); got != 2*want || gardenletWait(subjects[0]) != want {
			t.Errorf("%s: %s, want twice %s", kind, got, want)
		}
	}
}

// The record has states, which may have credentials.
func TestWrite_Record_IsForTheUserAlone(t *testing.T) {
	t.Parallel()
	o := &options{out: t.TempDir()}
	if err := o.write("record.json", []string{"state"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(o.out, "record.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
