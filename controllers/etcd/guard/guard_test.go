package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

func TestPassesEverythingWhileValid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	w.mustPut("a", "1")
	large := strings.Repeat("x", 1<<20)
	w.mustPut("large", large)
	answer, err := w.client.Get(t.Context(), "", clientv3.WithPrefix())
	if err != nil || len(answer.Kvs) != 2 || string(answer.Kvs[1].Value) != large {
		t.Fatalf("answer has %d keys: %v", len(answer.Kvs), err)
	}
	watch := w.client.Watch(t.Context(), "a", clientv3.WithRev(1))
	if response := <-watch; len(response.Events) != 1 {
		t.Errorf("watch gave %+v", response)
	}
	// An error is etcd's own, with its code and details.
	_, err = w.client.Put(t.Context(), "too large", strings.Repeat("x", 1700<<10))
	if err == nil || !strings.Contains(err.Error(), "etcdserver: request is too large") {
		t.Errorf("error is %v, want etcd's", err)
	}
	if lease, err := w.client.Grant(t.Context(), 60); err != nil || lease.TTL != 60 {
		t.Errorf("lease %+v: %v", lease, err)
	}
	if status, err := w.client.Status(t.Context(), w.endpoint); err != nil || status.Version == "" {
		t.Errorf("status %+v: %v", status, err)
	}
}

func TestPassesNothingBeforeTheEpochHasStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	memory := validity.Memory{Owner: owner.Owner, Epoch: owner.Epoch}
	if err := w.dir.WriteMemory(memory); err != nil {
		t.Fatal(err)
	}
	w.claim.Set(ownership.Record{Owner: "uid-b", Epoch: 2, Seed: "b"}) // the garden does not name it
	w.start()
	w.eventually("both authorities to be read", func() bool {
		_, claim := w.guard.Seen(ownership.Claim)
		_, decision := w.guard.Seen(ownership.Decision)
		return claim && decision
	})
	if err := w.put("a", "1"); err == nil {
		t.Error("a put passed before the start")
	}
	w.claim.Set(owner)
	w.is(validity.Serving)
	w.mustPut("a", "1")
}

func TestLapseCutsWatchesAndRevivalServesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	conn, err := grpc.NewClient(strings.TrimPrefix(w.endpoint, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := etcdserverpb.NewWatchClient(conn).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{
		CreateRequest: &etcdserverpb.WatchCreateRequest{Key: []byte("a")}}}
	if err := watch.Send(request); err != nil {
		t.Fatal(err)
	}
	if created, err := watch.Recv(); err != nil || !created.Created {
		t.Fatalf("watch answered %+v: %v", created, err)
	}
	w.claim.Down(true)
	w.decision.Down(true)
	_, err = watch.Recv() // blocks until the lapse
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with %v, want Unavailable", err)
	}
	if remaining := w.guard.Remaining(); remaining > 0 {
		t.Errorf("the watch was cut with %v of validity left", remaining)
	}
	if err := w.put("a", "suspended"); err == nil {
		t.Error("a put passed a suspended guard")
	}
	w.claim.Down(false) // the garden alone never revives
	w.eventually("the garden to be read", func() bool {
		seen, ok := w.guard.Seen(ownership.Claim)
		return ok && seen.Err == nil
	})
	if err := w.put("a", "suspended"); err == nil {
		t.Error("a put passed a guard that DNS does not name")
	}
	w.decision.Down(false)
	w.is(validity.Serving)
	w.mustPut("a", "again")
}

func TestFencedGuardPassesNothingAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	w.mustPut("a", "1")
	w.decision.Set(newer)
	w.is(validity.Fenced)
	if err := w.put("a", "fenced"); err == nil {
		t.Error("a put passed a fenced guard")
	}
	w.eventually("the final snapshot", func() bool { return w.guard.Memory().Fence.Finished })
	w.decision.Set(owner) // it cannot happen, and would not help
	w.stop()
	w.start()
	w.is(validity.Fenced)
	if err := w.put("a", "fenced"); err == nil {
		t.Error("a put passed a fenced guard that was restarted")
	}
	direct, err := w.etcd.Client.Get(t.Context(), "a")
	if err != nil || string(direct.Kvs[0].Value) != "1" {
		t.Errorf("etcd holds %s: %v", direct.Kvs[0].Value, err)
	}
}

func TestGuardThatNeverServedTakesNoFinalSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	if err := w.dir.WriteMemory(validity.Memory{Owner: owner.Owner, Epoch: owner.Epoch}); err != nil {
		t.Fatal(err)
	}
	w.decision.Set(newer)
	w.start()
	w.is(validity.Fenced)
	w.eventually("the end", func() bool { return w.guard.Memory().Fence.Finished })
	if final, err := backup.FinalSnapshot(t.Context(), w.bucket, owner.Epoch); err != nil || final != nil {
		t.Errorf("there is the final snapshot %v: %v", final, err)
	}
}

func TestReleaseEndsTheEpochWithEverythingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	holder, err := validity.NewHolder(w.url, "gateway-1", w.clock, w.as(access.Gateway).Transport)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	revoked := make(chan struct{})
	go holder.Run(ctx, 50*time.Millisecond, sync.OnceFunc(func() { close(revoked) }))
	w.eventually("the holder", func() bool { return holder.Term().Valid() })

	// Writers go on until they are cut.
	var acknowledged sync.Map
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for j := 0; ; j++ {
				key := string(rune('a'+i)) + "/" + time.Duration(j).String()
				if w.put(key, "x") != nil {
					return
				}
				acknowledged.Store(key, true)
			}
		})
	}
	w.eventually("some writes", func() bool {
		n := 0
		acknowledged.Range(func(any, any) bool { n++; return n < 50 })
		return n >= 50
	})
	begin := time.Now()
	release, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if err := validity.Release(release, w.url, owner.Epoch, w.clock, w.as(access.Gardenlet)); err != nil {
		t.Fatal(err)
	}
	t.Logf("released after %v, the validity of %v was not waited for", time.Since(begin), timing.Timeout)
	writers.Wait()
	select {
	case <-revoked:
	default:
		t.Error("released although the holder has not given up")
	}
	if err := validity.Release(release, w.url, owner.Epoch, w.clock, w.as(access.Gardenlet)); err != nil {
		t.Errorf("a second release: %v", err)
	}
	final, err := backup.FinalSnapshot(t.Context(), w.bucket, owner.Epoch)
	if err != nil || final == nil {
		t.Fatalf("no final snapshot: %v", err)
	}
	w.holdsAll(t, &acknowledged)
}

// holdsAll restores the final snapshot and looks for every acknowledged write.
func (w *world) holdsAll(t *testing.T, acknowledged *sync.Map) {
	t.Helper()
	if _, err := backup.EnsureManifest(t.Context(), w.bucket, w.bucket, owner.Epoch); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/etcd"
	result, err := backup.Restore(t.Context(), backup.RestoreOptions{
		Bucket: w.bucket, Epoch: newer.Epoch, DataDir: dir, MemberName: "etcd-main", PeerURL: "http://127.0.0.1:2380",
		RevisionBump: 1000,
	})
	if err != nil || !result.Final {
		t.Fatalf("restored %+v: %v", result, err)
	}
	answer, err := etcdtest.Start(t, dir).Client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	restored := map[string]bool{}
	for _, kv := range answer.Kvs {
		restored[string(kv.Key)] = true
	}
	acknowledged.Range(func(key, _ any) bool {
		if !restored[key.(string)] {
			t.Errorf("the final snapshot lacks the acknowledged write %q", key)
		}
		return true
	})
}

func TestFinalSnapshotWaitsForAHolderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	holder, err := validity.NewHolder(w.url, "silent", w.clock, w.as(access.Gateway).Transport)
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.decision.Set(newer)
	w.eventually("the final snapshot", func() bool {
		final, err := backup.FinalSnapshot(t.Context(), w.bucket, owner.Epoch)
		return err == nil && final != nil
	})
	if remaining := holder.Term().Remaining(); remaining > 0 {
		t.Errorf("the final snapshot was taken while a holder was valid for %v", remaining)
	}
}

// Who waits for the end of an epoch does not end it.
func TestO10TheEndOfAnEpochIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	await := func(epoch int64, patience time.Duration) error {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		return validity.AwaitEnd(ctx, w.url, epoch, w.clock, w.as(access.Gardenlet))
	}
	if err := await(owner.Epoch, 500*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) ||
		w.guard.State() != validity.Serving {
		t.Fatalf("while it serves: %v, and then it is %s", err, w.guard.State())
	}
	w.decision.Set(newer)
	if err := await(owner.Epoch, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if final, err := backup.FinalSnapshot(t.Context(), w.bucket, owner.Epoch); err != nil || final == nil {
		t.Errorf("it is over, and there is no final snapshot: %v", err)
	}
	if err := await(newer.Epoch, 500*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of another epoch: %v", err)
	}
}

func TestReleaseIsRefusedToAnotherEpochAndToASuspendedGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	post := func(epoch string) (int, string) {
		response, err := w.as(access.Gardenlet).Post(w.url+"/fence?epoch="+epoch, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if code, body := post("2"); code != http.StatusConflict || !strings.Contains(body, "epoch 3") {
		t.Errorf("another epoch: %d %s", code, body)
	}
	w.claim.Down(true)
	w.decision.Down(true)
	w.is(validity.Suspended)
	if code, body := post("3"); code != http.StatusConflict || !strings.Contains(body, validity.ErrNotServing.Error()) {
		t.Errorf("suspended: %d %s", code, body)
	}
	if w.guard.State() != validity.Suspended {
		t.Errorf("guard is %s", w.guard.State())
	}
}

func TestAnswersHoldersAndProbes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	holders := w.as(access.MachineController)
	get := func(path string) (int, []byte) {
		address, client := w.probes, http.DefaultClient
		switch {
		case path == "/state":
			address, client = w.url, w.as(access.Observer)
		case strings.HasPrefix(path, "/validity"):
			address, client = w.url, holders
		}
		response, err := client.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, body
	}
	ask := func(path string) validity.Answer {
		code, body := get(path)
		var answer validity.Answer
		if err := json.Unmarshal(body, &answer); err != nil || code != http.StatusOK {
			t.Fatalf("%d %s: %v", code, body, err)
		}
		return answer
	}
	granted := func() validity.Answer { return ask("/validity?instance=me") }
	if state := ask("/state"); state.Epoch != 3 || state.State != validity.Serving || state.Remaining.Duration <= 0 {
		t.Errorf("state is %+v", state)
	}
	if pending := w.guard.RevocationPending(); len(pending) != 0 {
		t.Errorf("a fence would wait for %q, who only looked", pending)
	}
	answer := granted()
	if diff := cmp.Diff([]string{"machine-controller/me"}, w.guard.RevocationPending()); diff != "" {
		t.Errorf("a fence would wait for:\n%s", diff)
	}
	if answer.Epoch != 3 || answer.Owner != "uid-a" || answer.BootID != w.clock.BootID() ||
		answer.State != validity.Serving ||
		answer.Remaining.Duration <= 0 || answer.Remaining.Duration > timing.Timeout {
		t.Errorf("validity is %+v", answer)
	}
	if code, _ := get("/readyz"); code != http.StatusOK {
		t.Errorf("readyz of a serving guard is %d", code)
	}
	if code, body := get("/metrics"); code != http.StatusOK || !strings.Contains(string(body),
		`etcd_guard_state{state="Serving"} 1`) {
		t.Errorf("metrics: %d\n%s", code, body)
	}
	w.decision.Set(newer)
	w.is(validity.Fenced)
	if answer := granted(); answer.Remaining.Duration != 0 || answer.State != validity.Fenced {
		t.Errorf("validity of a fenced guard is %+v", answer)
	}
	if code, _ := get("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("readyz of a fenced guard is %d", code)
	}
	if code, _ := get("/healthz"); code != http.StatusOK {
		t.Errorf("healthz of a fenced guard is %d", code)
	}
}

func TestConnectionOpenedBeforeALapseStaysCutAfterIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.is(validity.Serving)
	conn, err := grpc.NewClient(strings.TrimPrefix(w.endpoint, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := etcdserverpb.NewWatchClient(conn).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{
		CreateRequest: &etcdserverpb.WatchCreateRequest{Key: []byte("a")}}}
	if err := watch.Send(request); err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	w.guard.Term().End() // a lapse too short to be seen by anybody else
	w.is(validity.Serving)
	if _, err := watch.Recv(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the old watch goes on: %v", err)
	}
}
