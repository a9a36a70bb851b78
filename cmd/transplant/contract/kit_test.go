package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/plan"
	"github.com/transplant-sim/transplant/sim/contract/tap"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// emptyLedger is a cloud in which nothing was done.
type emptyLedger struct{}

func (emptyLedger) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// cloudBehind is a client of a cloud without a server.
func cloudBehind(t *testing.T, transport http.RoundTripper) *cloud.Client {
	t.Helper()
	c, err := cloud.New(&rest.Config{Host: "http://cloud.test", Transport: transport}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// universeOn is one of a Network on a seed that a kit follows, without servers.
func universeOn(t *testing.T, name string) (*universe, *side) {
	t.Helper()
	extension := landscape.Extension{Name: "x", Resources: []landscape.ExtensionResource{{Kind: "Network", Type: "n"}}}
	prepared := environment.New(environment.ScenarioSettings)
	prepared.Extensions = []landscape.Extension{extension}
	subjects, _ := subjectsOf(extension, nil)
	at := &side{name: sourceName, actor: extension.ActorOn(sourceName), tap: tap.New(), managed: newObserver(),
		client:  fake.NewClientBuilder().WithScheme(environment.Scheme()).Build(),
		objects: map[string]*observer{"Network": newObserver()}}
	u := (&kit{environment: prepared, sides: []*side{at}, multiplier: 1,
		observer: ledger{cloudBehind(t, emptyLedger{})}}).newUniverse(subjects[0], name)
	at.tap.Watch(u.namespace, u.kind.Resource, "")
	return u, at
}

// writes lets the extension write its object, and says whether that passes. The answer may be given.
func writes(u *universe, at *side, answer ...string) (passes bool) {
	r := httptest.NewRequest(http.MethodPatch, "/apis/extensions.gardener.cloud/v1alpha1/namespaces/"+u.namespace+
		"/networks/contract", strings.NewReader("{}"))
	q := kubeapi.Describe(r)
	defer func() {
		why := recover()
		refused, _ := why.(error)
		if why != nil && !errors.Is(refused, http.ErrAbortHandler) { // with which a tap refuses
			panic(why)
		}
	}()
	tap.ToAPI{Tap: at.tap}.Start().Serve(nil, &requests.Exchange{W: httptest.NewRecorder(), R: r, Request: &q},
		func(x *requests.Exchange) {
			passes = true
			x.W.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(x.W, strings.Join(answer, ""))
		})
	return passes
}

// A write between an answer and the next request is of the step before, however late it is.
func TestStep_LateWrite_IsOfTheStepBefore(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, contract.Clean)
	write := func(context.Context, *side) (int64, error) {
		if !writes(u, at) {
			t.Error("the write does not pass")
		}
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
	if diff := gocmp.Diff([]int{2, 1, 1}, got); diff != "" {
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
	if diff := gocmp.Diff([]contract.Item{{Resource: class, Name: "theirs"}}, got); diff != "" {
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
	if diff := gocmp.Diff(want, p.crash()); diff != "" {
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

// What was answered with a write less than the undisturbed object may be after all writes, if that is its point.
func TestAwaitGate_AnsweredWithFewerWrites_HasEnded(t *testing.T) {
	t.Parallel()
	for _, last := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			u, at := universeOn(t, "crash")
			u.quiet, u.made = quietTime, true
			p := &point{universe: u, operation: contract.Delete, writes: 2, last: last, gate: at.tap.Limit(u.namespace, 2)}
			object := versionOf("1", "")
			object.SetNamespace(u.namespace)
			object.SetName(u.objectName())
			if err := at.objects["Network"].take(t.Context(), watch.Deleted, object, nil); err != nil || !writes(u, at) {
				t.Fatalf("the write does not pass: %v", err)
			}
			began := time.Now()
			if err := p.awaitGate(t.Context(), at); err != nil || time.Since(began) < quietTime {
				t.Errorf("it waits %s for another write: %v", time.Since(began), err)
			}
			p.lookBefore()
			p.walk.Steps = []*contract.Step{{Name: contract.Create}, {Name: contract.Delete}}
			if got := p.crash(); !got.Missed || got.Ended != last || got.Passed != 1 {
				t.Errorf("after all writes: %t, and it is %+v", last, got)
			}
		})
	}
}

// A point is at the end of its step if the object makes no write for a while after its answer.
func TestLookBefore_WritesUntilTheCrash_HasNotEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after     time.Duration // the crash
		goesOn    bool
		wantEnded bool
	}{
		"quiet": {quietTime, false, true}, "goes on": {quietTime, true, false}, "at once": {0, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			u, at := universeOn(t, "crash")
			u.quiet, u.made = quietTime, true
			p := &point{universe: u, operation: contract.Delete, writes: 1, gate: at.tap.Limit(u.namespace, 1)}
			object := versionOf("1", "")
			object.SetNamespace(u.namespace)
			object.SetName(u.objectName())
			if err := at.objects["Network"].take(t.Context(), watch.Deleted, object, nil); err != nil || !writes(u, at) {
				t.Fatalf("the write does not pass: %v", err)
			}
			if err := p.awaitGate(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.after)
			if c.goesOn && writes(u, at) {
				t.Fatal("a write passes that is one too many")
			}
			if p.lookBefore(); p.ended != c.wantEnded {
				t.Errorf("%s: it has ended: %t", name, p.ended)
			}
		})
	}
}

// runs has the extension run as a process that restarts when it is killed, if the node does that. It has a Lease.
func runs(t *testing.T, u *universe, at *side, pids []int, isStartedAgain bool) {
	t.Helper()
	u.progress = t.Logf
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: u.extension().Namespace(), Name: "x"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x",
			Env: []corev1.EnvVar{{Name: landscape.ActorVariable, Value: at.actor}}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "x", RestartCount: 1}}}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: u.extension().Namespace(), Name: "leader"}}
	for _, object := range []client.Object{pod, lease} {
		if err := at.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	at.signal = func(ctx context.Context, variable, value string, signal syscall.Signal) ([]int, error) {
		if variable != landscape.ActorVariable || value != at.actor {
			t.Errorf("what has %s=%s is signalled", variable, value)
		}
		if signal != syscall.SIGKILL || len(pids) == 0 {
			return pids, nil
		}
		status := &pod.Status.ContainerStatuses[0]
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137}
		if isStartedAgain {
			status.RestartCount++
		}
		return pids, at.client.Status().Update(ctx, pod)
	}
}

// What is killed and started again was crashed, and has no Leases any more.
func TestKill_Process_IsStartedAgain(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, "crash")
	runs(t, u, at, []int{7}, true)
	restarted, err := u.kill(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if err := restarted(t.Context()); err != nil {
		t.Error(err)
	}
	left := &coordinationv1.LeaseList{}
	if err := at.client.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d Leases are left: %v", len(left.Items), err)
	}
}

// A crash that nobody has seen is none: nothing was killed, or what was killed is not started again.
func TestInterrupt_WithoutCrash_IsAnError(t *testing.T) {
	t.Parallel()
	for want, pids := range map[string][]int{
		"no process has had TRANSPLANT_ACTOR=x-kit-source": nil, "none of its 1 containers was started again": {7},
	} {
		synctest.Test(t, func(t *testing.T) {
			u, at := universeOn(t, "crash")
			runs(t, u, at, pids, false)
			began, e := time.Now(), u.evidence(u.subject)
			err := u.batch(t.Context(), contract.Create, nil, []*contract.Evidence{e})
			if crashes := (*crashError)(nil); !errors.As(err, &crashes) || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want a crashError with %q", err, want)
			}
			if waited := time.Since(began); waited < time.Minute || len(e.Crashes) > 0 {
				t.Errorf("after %s there are %d crashes, and a node may take a minute", waited, len(e.Crashes))
			}
		})
	}
}

// What cannot be killed is not tried with crashes, and may be tried without.
func TestTry_NothingToKill_IsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, "crash")
		runs(t, u, at, nil, false)
		clause, _ := contract.ClauseByID(contract.ByCrashes)
		_, err := u.try(t.Context(), []subject{u.subject}, []contract.Clause{clause})
		if err == nil || !strings.Contains(err.Error(), "--points all: ") || !strings.Contains(err.Error(), "--points none") {
			t.Errorf("the error is %v, want one that names --points none", err)
		}
	})
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

// At no time is the object to be deleted and not to be migrated, and no write of the extension passes meanwhile.
func TestMigrateDeleted_AsksBeforeItDeletes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, contract.Deleting)
		u.quiet = time.Second
		object, err := u.object(constants.GardenerOperationReconcile)
		if err != nil {
			t.Fatal(err)
		}
		object.SetFinalizers([]string{"x/y"})
		if err := at.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		at.client = interceptor.NewClient(at.client, interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
				if writes(u, at) {
					t.Error("a write passes before the object is deleted")
				}
				there := u.empty()
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), there); err != nil {
					return err
				}
				if asked := there.GetAnnotations()[constants.GardenerOperation]; asked != constants.GardenerOperationMigrate {
					t.Errorf("it is deleted while it is to %q", asked)
				}
				return c.Delete(ctx, o, options...)
			}})
		from, err := asking{u}.migrateDeleted(t.Context(), at)
		if err != nil || from == 0 {
			t.Fatalf("from %d: %v", from, err)
		}
		there := u.empty()
		if err := at.client.Get(t.Context(), u.key(), there); err != nil || there.GetDeletionTimestamp() == nil ||
			there.GetAnnotations()[constants.GardenerOperation] != constants.GardenerOperationMigrate {
			t.Errorf("%v, %v", there.Object, err)
		}
	})
}

// ledgerOf is a cloud in which these calls were made.
type ledgerOf []cloud.LedgerEntry

func (l ledgerOf) RoundTrip(r *http.Request) (*http.Response, error) {
	after, err := strconv.ParseInt(cmp.Or(r.URL.Query().Get("after"), "0"), 10, 64)
	if err != nil {
		return nil, err
	}
	content := &bytes.Buffer{}
	for _, entry := range l[min(int(after), len(l)):] {
		if err := json.NewEncoder(content).Encode(entry); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(content), Request: r}, nil
}

// onCloud lets a universe read a ledger with these entries.
func onCloud(t *testing.T, u *universe, entries ...cloud.LedgerEntry) {
	t.Helper()
	for i := range entries {
		entries[i].Seq, entries[i].Identity = int64(i+1), u.source().actor
		entries[i].Verb, entries[i].After, entries[i].Outcome = "create", "x", cloud.OutcomeOK
	}
	u.observer = ledger{cloudBehind(t, ledgerOf(entries))}
}

// agreeing is a cloud that does whatever it is asked for.
type agreeing struct{}

func (agreeing) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

// A call that may have been for the object is not lost: of a bucket that nobody has asked for, too, and of a seed's.
func TestAccount_CallOfNobody_IsCounted(t *testing.T) {
	t.Parallel()
	u, _ := universeOn(t, contract.Clean)
	call := func(shoot, kind, id string) cloud.LedgerEntry {
		return cloud.LedgerEntry{Scope: cloud.Scope{Shoot: shoot}, Kind: kind, ID: id}
	}
	onCloud(t, u, call(u.namespace, cloud.KindNetworks, "n1"), call("other", cloud.KindNetworks, "n2"),
		call("", cloud.KindNetworks, "n3"), call("", cloud.KindBuckets, "known"), call("", cloud.KindBuckets, "unknown"),
		call("", cloud.KindBuckets, u.objectName()), call("", cloud.KindBuckets, u.source().backupBucket()))
	u.buckets.Store("known", true)
	u.admin = cloudBehind(t, agreeing{})
	if err := u.makeBackupBuckets(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &contract.Step{}
	if err := u.account(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, call := range s.Calls {
		ids = append(ids, call.ID)
	}
	if diff := gocmp.Diff([]string{"n1", u.objectName()}, ids); diff != "" || s.Unscoped != 3 {
		t.Errorf("%d of nobody, want n3, the unknown bucket and the seed's; its own (-want +got):\n%s", s.Unscoped, diff)
	}
}

// A call that the cloud has refused is kept, but for one of an older epoch, which was sent to be refused.
func TestAccount_RefusedCall_IsKept(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, contract.Clean)
	var entries ledgerOf
	for i, c := range []struct{ shoot, outcome string }{{u.namespace, "Unauthorized"}, {u.namespace, "StaleEpoch"},
		{u.namespace, "DependencyViolation"}, {u.namespace, cloud.OutcomeReplayed}, {"other", "Unauthorized"},
		{"", "NotFound"}} {
		entries = append(entries, cloud.LedgerEntry{Seq: int64(i + 1), Identity: at.actor, Verb: cloud.VerbDelete,
			Kind: cloud.KindNetworks, ID: "n1", Scope: cloud.Scope{Shoot: c.shoot}, Outcome: c.outcome})
	}
	u.observer = ledger{cloudBehind(t, entries)}
	s := &contract.Step{}
	if err := u.account(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	call := contract.Call{Identity: at.actor, Verb: "delete", Kind: "networks", ID: "n1"}
	var want []contract.Call
	for _, call.Refused = range []string{"Unauthorized", "DependencyViolation"} {
		want = append(want, call)
	}
	if diff := gocmp.Diff(want, s.Refused); diff != "" || len(s.Calls) > 0 || s.Unscoped != 1 {
		t.Errorf("carried out: %v, of nobody: %d, refused (-want +got):\n%s", s.Calls, s.Unscoped, diff)
	}
}

// What was seen after the object has left the source is of its last step there, before its Infrastructure moves.
func TestArriveBase_LateCall_IsOfTheLastStep(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, contract.Clean)
	onCloud(t, u, cloud.LedgerEntry{Scope: cloud.Scope{Shoot: u.namespace}, Kind: cloud.KindNetworks, ID: "n1"})
	u.base = u.newUniverse(u.subject, contract.Clean)
	u.base.at, u.base.made = at, true
	last := &contract.Step{Name: contract.DeleteSource}
	u.walk.Steps = []*contract.Step{last}
	if err := u.arriveBase(t.Context(), at); !apierrors.IsNotFound(err) { // there is no Infrastructure
		t.Fatal(err)
	}
	if len(last.Calls) != 1 {
		t.Errorf("the last step has %+v", last.Calls)
	}
}

// What changes the cloud while the Infrastructure comes to the seed may be for the object.
func TestArriveBase_CallMeanwhile_MayBeOfTheObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, contract.Clean)
		calls := &ledgerOf{}
		u.observer = ledger{cloudBehind(t, calls)}
		at.config = &rest.Config{Host: "http://seed.test", Transport: noCloud{}}
		at.client = interceptor.NewClient(at.client, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				*calls = append(*calls, cloud.LedgerEntry{Seq: 1, Scope: cloud.Scope{Shoot: u.namespace}, Identity: at.actor,
					Kind: cloud.KindNetworks, ID: "n1", Verb: "create", After: "x", Outcome: cloud.OutcomeOK})
				return c.Create(ctx, o, options...)
			}})
		u.base = u.newUniverse(u.subject, contract.Clean)
		last := &contract.Step{Name: contract.DeleteSource}
		u.walk.Steps = []*contract.Step{last}
		err := u.arriveBase(t.Context(), at)
		if len(last.Calls) != 0 || last.Unscoped != 1 || !strings.Contains(u.walk.Ended, "its Infrastructure: ") {
			t.Errorf("the last step has %d calls and %d of nobody; it ended: %q: %v", len(last.Calls), last.Unscoped,
				u.walk.Ended, err)
		}
	})
}

// Crashes are compared with what an undisturbed step came to after as much time as after a crash.
func TestStep_Compared_IsLookedAtAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, contract.Clean)
		u.quiet, u.settles, u.compared = quietTime, settleTime, []string{contract.Create}
		show := func(number, operation string) {
			object := versionOf(number, operation)
			object.SetNamespace(u.namespace)
			object.SetName("contract")
			if err := at.objects["Network"].take(t.Context(), watch.Modified, object, nil); err != nil {
				t.Error(err)
			}
		}
		show("1", "early")
		time.AfterFunc(2*settleTime, func() { show("2", "late") })
		isThere := func(version) error { return nil }
		s, err := u.step(t.Context(), at, contract.Create, nothing, isThere, time.Second)
		if err != nil || s.After.Operation != "early" || s.Settled == nil || s.Settled.After.Operation != "late" {
			t.Fatalf("%+v: %v", s, err)
		}
		s, err = u.step(t.Context(), at, contract.Reconcile, nothing, isThere, time.Second)
		if err != nil || s.Settled != nil {
			t.Errorf("%+v: %v", s, err)
		}
	})
}

// The state that was handed over is in the record of the restore: the object may have another when it is asked for.
func TestStep_Restore_HasWhatWasHandedOver(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, contract.Clean)
	u.sides, u.handed = []*side{{name: "other"}, at}, json.RawMessage(`{"id":"n1"}`)
	for name, want := range map[string]string{contract.WaitForState: "", contract.Restore: `{"id":"n1"}`} {
		if s, err := u.step(t.Context(), at, name, nothing, nil, 0); err != nil || string(s.Handed) != want {
			t.Errorf("%s: %+v: %v", name, s, err)
		}
	}
}

// There is as much time for seeing the smallest plan again as it took before, and the extension is back then.
func TestShrinkWithin_LongReplay_IsSeenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := plan.Plan{APIVersion: contract.APIVersion, Kind: plan.FileKind, Clause: "B4", Of: "Network/n",
			Objects: []plan.Object{{Walk: contract.Clean, Steps: contract.WalkSteps[contract.Clean]}}}
		var done []string
		shows := func(ctx context.Context, plans []plan.Plan) (int, error) {
			if err := sleep(ctx, 4*time.Minute); err != nil {
				done = append(done, "interrupted")
				return -1, err
			}
			done = append(done, "shown")
			return len(plans) - 1, nil // which has most steps
		}
		got, ended, err := shrinkWithin(t.Context(), 10*time.Minute, p, shows, func(context.Context) error {
			done = append(done, "back")
			return nil
		})
		steps, _ := got.Size()
		if all := strings.Join(done, " "); steps >= len(p.Objects[0].Steps) || !ended || err == nil ||
			all != "shown interrupted back shown" {
			t.Errorf("%d steps, ended %t: %s: %v", steps, ended, all, err)
		}
	})
}

// Machines that were there for some time are seen, as they were last.
func TestMachinesSeen_GoneMachine_IsOne(t *testing.T) {
	t.Parallel()
	o := newObserver()
	take := func(event watch.EventType, name, id string) {
		t.Helper()
		object := versionOf("1", "")
		object.SetName(name)
		object.SetLabels(map[string]string{"node": name})
		if err := unstructured.SetNestedField(object.Object, id, "spec", "providerID"); err != nil {
			t.Fatal(err)
		}
		if err := o.take(t.Context(), event, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	take(watch.Added, "b", "")
	take(watch.Modified, "b", "id1")
	take(watch.Added, "a", "id2")
	take(watch.Deleted, "a", "id2")
	got, err := machinesSeen(o, "n")
	if diff := gocmp.Diff([]string{"a id2 a", "b id1 b"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// noCloud answers nothing.
type noCloud struct{}

func (noCloud) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no cloud") }

// A run that has ended has its findings and their plans, also if a plan cannot be made smaller.
func TestPlans_ShrinkFails_KeepsThePlan(t *testing.T) {
	t.Parallel()
	u, _ := universeOn(t, contract.Clean)
	var said []string
	u.admin, u.zone = cloudBehind(t, noCloud{}), "z"
	u.progress = func(format string, arguments ...any) { said = append(said, fmt.Sprintf(format, arguments...)) }
	e := &contract.Evidence{Kind: "Network", Type: "n", Walks: map[string]*contract.Walk{contract.Clean: {
		Name: contract.Clean, Namespace: u.namespace, Steps: []*contract.Step{{Name: contract.Create},
			{Name: contract.Reconcile}, {Name: contract.Migrate, Items: []contract.Item{{Resource: "secrets", Name: "s"}}}}}}}
	b4, _ := contract.ClauseByID("B4")
	report := contract.Judge(e, []contract.Clause{b4})
	o := &options{out: t.TempDir(), shrink: time.Minute}
	if err := o.plans(t.Context(), u.kit, u.subject, e, report); err != nil {
		t.Fatal(err)
	}
	path := report.Findings["B4"].Plan
	if _, err := plan.Read(path, []string{"Network/n"}); err != nil {
		t.Error(err)
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "its plan is not made smaller") ||
		!strings.Contains(all, "no cloud") {
		t.Errorf("it says %q", all)
	}
}

// What was changed before is seen before the next is asked for: a watch may take longer than an answer to settle.
func TestAfterwards_WaitsUntilItIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, contract.Failed)
		u.quiet, u.settles = quietTime, settleTime
		began := time.Now()
		if _, err := (asking{u}).afterwards(nothing)(t.Context(), at); err != nil || time.Since(began) < quietTime {
			t.Errorf("asked after %s: %v", time.Since(began), err)
		}
	})
}

// askCloud reads the cloud for the object, as its extension, and says whether the cloud was asked.
func askCloud(u *universe, at *side) (passes bool) {
	r := httptest.NewRequest(http.MethodGet, "/networks", nil)
	r.Header.Set(cloud.HeaderShoot, u.namespace)
	tap.ToCloud{Tap: at.tap}.Start().Serve(nil, &requests.Exchange{W: httptest.NewRecorder(), R: r},
		func(*requests.Exchange) { passes = true })
	return passes
}

// The cloud refuses what it has refused until the deletion is asked for, and then only a restore that goes on.
func TestDelete_RefusingCloud_RefusesOnlyTheRestore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, at := universeOn(t, contract.Refused)
		u.quiet, u.made = quietTime, true
		object, err := u.object(constants.GardenerOperationRestore)
		if err == nil {
			object.SetFinalizers([]string{"x/y"})
			err = at.client.Create(t.Context(), object)
		}
		if err != nil {
			t.Fatal(err)
		}
		at.tap.Refuse(u.namespace, true)
		at.client = interceptor.NewClient(at.client, interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, all ...client.DeleteOption) error {
				if askCloud(u, at) {
					t.Error("the cloud works before the deletion is asked for")
				}
				return c.Delete(ctx, o, all...)
			}})
		says := func(after time.Duration, last, state string, works bool) {
			time.AfterFunc(after, func() {
				writes(u, at, fmt.Sprintf(`{"metadata":{},"status":{"lastOperation":{"type":%q,"state":%q}}}`, last, state))
				if askCloud(u, at) != works {
					t.Errorf("while the object says %s/%s the cloud works: %t", last, state, !works)
				}
			})
		}
		says(quietTime/8, "Restore", "Error", true)
		says(quietTime/4, "Restore", "Processing", false) // it has read the object before
		says(quietTime/2, "Restore", "Error", true)
		says(2*quietTime/3, "Delete", "Processing", true)
		if _, err := u.plan(contract.Delete).ask(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		writes(u, at, `{"metadata":{},"status":{"lastOperation":{"type":"Restore","state":"Processing"}}}`)
		if !askCloud(u, at) {
			t.Error("the cloud does not work again")
		}
	})
}

// Nothing is left of an object that nobody looks at any more, whatever its finalizers wait for.
func TestClear_FinalizersThatStay_AreTakenOff(t *testing.T) {
	t.Parallel()
	u, at := universeOn(t, contract.Stuck)
	object, err := u.object(constants.GardenerOperationReconcile)
	if err != nil {
		t.Fatal(err)
	}
	object.SetFinalizers([]string{"x/y"})
	if err := at.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is none
		if err := (asking{u}).clear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := at.client.Get(t.Context(), u.key(), u.empty()); !apierrors.IsNotFound(err) {
			t.Errorf("it is still there: %v", err)
		}
	}
}

// An object that has not asked the cloud is not waited for, whatever its Infrastructure has asked.
func TestThaw_ObjectWithoutCloud_IsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for asked, wants := range map[int]time.Duration{0: 0, 1: thawWait} {
		synctest.Test(t, func(t *testing.T) {
			u, at := universeOn(t, contract.Stuck)
			u.walk.Steps = []*contract.Step{{Name: contract.CreateStuck, CloudRequests: asked}}
			askCloud(u, at) // for the Infrastructure, before
			began := time.Now()
			if _, err := (asking{u}).thaw(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < wants || wants == 0 && took > 0 {
				t.Errorf("after %d requests it waits %s, want %s", asked, took, wants)
			}
		})
	}
}
