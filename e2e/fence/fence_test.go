package fence_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

// How the 1,000 writes of a scenario are spread over it.
const (
	before = 300 // acknowledged when the freeze comes
	during = 600 // the writes of before and of the freeze end with this one
	asleep = 200 // sent to the frozen, when the successor has started
	awake  = 200 // sent to the thawed
	inside = 50  // sent past the gateway, each time: the guard alone holds these off
)

func TestFrozenInTheMiddleOfWritesNobodyAnswersForTheSuccessor(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	t.Run("frozen", func(t *testing.T) {
		for shoot, frozen := range map[string][]string{
			"guard": {"guard"}, "etcd": {"etcd"}, "apiserver": {"apiserver"}, "gateway": {"gateway"},
			// etcd is the last, so that its revision can be read when nothing comes to it any more.
			"all": {"gateway", "apiserver", "guard", "etcd"},
		} {
			t.Run(shoot, func(t *testing.T) {
				t.Parallel()
				s := &scenario{T: t, seed: newSeed(t, h, shoot), frozen: frozen, stopped: map[*process.Process][]process.ID{}}
				s.run()
				s.judgeAnswers()
				s.judgeCommits()
				s.judgeFinalSnapshot()
			})
		}
	})
}

// scenario of a seed that is frozen, replaced and thawed.
type scenario struct {
	*testing.T
	*seed
	frozen  []string
	stopped map[*process.Process][]process.ID

	calls, inner []call // of the user, and of a client on the seed
	// started is when the successor may have given its first answer, thawed when the old owner went on.
	started, thawed time.Time
	// over is the revision of the store when its epoch was over, rest that to which it had come until the thaw: what
	// had reached etcd before is still committed, for nobody.
	over, rest int64
}

func (s *scenario) run() {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	c := newClient(ctx, s.T, "key", s.ca, s.entry)
	inner := newClient(ctx, s.T, "inner", s.ca, s.server)
	s.eventually(s.T, "the API to be reached", func() bool {
		c.read()
		return c.done()[len(c.done())-1].status == http.StatusOK
	})
	c.work(during)
	s.eventually(s.T, "writes to be under way", func() bool { return c.acknowledged() >= before })
	inner.spawn(inside, inner.write)
	s.freeze()
	taken, err := s.take(ctx, "b")
	must(s.T, err)
	if taken != epoch+1 {
		s.Fatalf("the successor has epoch %d", taken)
	}
	s.started = time.Now()
	if !s.freezes("etcd") {
		s.over = s.revision(s.T)
	}
	c.spawn(asleep, c.write)
	c.spawn(asleep/2, c.read)
	inner.spawn(inside, inner.write)
	s.settled(c)
	if !s.freezes("etcd") {
		s.rest = s.mark(s.T)
	}
	s.thaw(c)
	c.spawn(awake, c.write)
	c.spawn(awake/2, c.read)
	inner.spawn(inside, inner.write)
	s.eventually(s.T, "the guard to end its epoch", func() bool {
		fence := s.fence()
		return fence != nil && fence.Finished
	})
	s.settled(c)
	cancel()
	c.waiting.Wait()
	inner.waiting.Wait()
	s.calls, s.inner = c.done(), inner.done()
}

// settled waits until no request has ended for a while.
func (s *scenario) settled(c *client) {
	last, since := -1, time.Now()
	s.eventually(s.T, "the requests to end or to hang", func() bool {
		if n := len(c.done()); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > time.Second
	})
}

func (s *scenario) freezes(name string) bool { return slices.Contains(s.frozen, name) }

func (s *scenario) freeze() {
	for _, name := range s.frozen {
		if name == "etcd" {
			s.over = s.revision(s.T)
		}
		p := s.processes[name]
		ids, err := p.ID().Freeze()
		must(s.T, err)
		s.stopped[p] = ids
	}
}

// thaw in the order of the freeze. A guard wakes late, when everything between it and the clients has had time to
// answer: a gateway must know by its own clock.
func (s *scenario) thaw(c *client) {
	s.thawed = time.Now()
	for i, name := range s.frozen {
		if i > 0 && name == "guard" {
			s.settled(c)
		}
		p := s.processes[name]
		must(s.T, p.ID().Thaw(s.stopped[p]))
	}
}

// judgeAnswers by (P): nothing that was sent after the first answer of the successor is answered by the old owner, and
// what is answered late was committed in time. A client on the seed may get errors, and what was cached.
func (s *scenario) judgeAnswers() {
	for _, c := range s.inner {
		if c.acknowledged() && (c.sent.After(s.started) || c.answered.After(s.thawed) && c.revision > s.over) {
			s.Errorf("%s, sent %v after the successor's start, was acknowledged with revision %d", c.key, c.sent.Sub(s.started),
				c.revision)
		}
	}
	acknowledged, unanswered := 0, 0
	for _, c := range s.calls {
		switch {
		case c.status == 0:
			unanswered++
		case c.sent.After(s.started):
			s.Errorf("a request (%q) sent %v after the successor's start was answered with %d", c.key, c.sent.Sub(s.started),
				c.status)
		case c.acknowledged() && c.answered.After(s.thawed) && c.revision > s.over:
			s.Errorf("%s was acknowledged after the thaw with revision %d, the epoch was over at %d", c.key, c.revision, s.over)
		case c.acknowledged():
			acknowledged++
		}
	}
	if acknowledged < before || unanswered < asleep+awake {
		s.Errorf("%d acknowledged writes and %d unanswered requests show nothing", acknowledged, unanswered)
	}
	s.Logf("%d writes acknowledged, %d requests unanswered, the epoch over at revision %d", acknowledged, unanswered,
		s.over)
}

// judgeCommits: what was acknowledged is in the store, what was sent to an epoch that was over is not.
func (s *scenario) judgeCommits() {
	stored := keysOf(s.T, s.etcd)
	for _, c := range slices.Concat(s.calls, s.inner) {
		switch at, there := stored[c.key]; {
		case c.key == "":
		case c.acknowledged() && at != c.revision:
			s.Errorf("%s was acknowledged with revision %d and is stored with %d", c.key, c.revision, at)
		case there && c.sent.After(s.started):
			s.Errorf("%s was sent %v after the successor's start and committed", c.key, c.sent.Sub(s.started))
		}
	}
	if s.freezes("etcd") {
		return // what it had received when it was frozen it commits now, for nobody
	}
	late := s.written(s.T, s.rest, s.revision(s.T))
	allowed := 0
	if s.freezes("guard") {
		allowed = 1 // that stood between the check and the system call
	}
	if len(late) > allowed {
		s.Errorf("%d revisions were committed after the thaw: %q", len(late), late)
	}
}

// judgeFinalSnapshot by (F): the final snapshot holds every acknowledged write.
func (s *scenario) judgeFinalSnapshot() {
	dir := filepath.Join(s.TempDir(), "etcd")
	result, err := backup.Restore(s.Context(), backup.RestoreOptions{
		Bucket: s.bucket, Epoch: epoch + 1, DataDir: dir, MemberName: "etcd-main", PeerURL: "http://127.0.0.1:2380",
		RevisionBump: 1000, Log: testr.New(s.T),
	})
	must(s.T, err)
	if !result.Final {
		s.Fatalf("restored %+v, which is not the final snapshot", result)
	}
	restored := keysOf(s.T, etcdtest.Start(s.T, dir).Client)
	for _, c := range slices.Concat(s.calls, s.inner) {
		if _, there := restored[c.key]; c.acknowledged() && !there {
			s.Errorf("the final snapshot lacks the acknowledged %s", c.key)
		}
	}
}

// keysOf an etcd are the ConfigMaps of the scenario, with the revisions of their creation.
func keysOf(t *testing.T, etcd *clientv3.Client) map[string]int64 {
	t.Helper()
	const prefix = "/registry/configmaps/default/"
	answer, err := etcd.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	must(t, err)
	keys := map[string]int64{}
	for _, kv := range answer.Kvs {
		keys[strings.TrimPrefix(string(kv.Key), prefix)] = kv.CreateRevision
	}
	return keys
}
