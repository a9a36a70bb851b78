package link_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// scene is a link with an open watch on it, and a server that counts what reaches it.
type scene struct {
	*world
	link  *link.Link
	clock *testingclock.FakeClock
	watch io.Reader
	*stream
	reached atomic.Int64
}

// newScene opens the watch over a protocol and sees a first event pass.
func newScene(t *testing.T, protocol string) *scene {
	t.Helper()
	s := &scene{stream: newStream(nil), clock: testingclock.NewFakeClock(time.Now())}
	mux := http.NewServeMux()
	mux.Handle("/watch", s.stream)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.reached.Add(1)
		_, _ = io.WriteString(w, "ok")
	})
	s.world = newWorld(t, mux)
	s.link = s.world.link(t, link.Options{Clock: s.clock})
	s.watch = open(t, s.client(protocol), s.link.URL()+"/watch").Body
	s.send(t, "before\n")
	expectChunk(t, s.watch, "before\n")
	return s
}

// expectClean makes a call on a new connection.
func (s *scene) expectClean(t *testing.T) {
	t.Helper()
	for _, protocol := range []string{"h2", "http/1.1"} {
		if got := wait(t, get(t, s.client(protocol), s.link.URL())); got.value != "ok" {
			t.Errorf("a new connection got %q, %v", got.value, got.err)
		}
	}
}

// pass steps the clock, whenever somebody waits for it, until something has happened; it returns the time that took.
func pass[T any](t *testing.T, clock *testingclock.FakeClock, step time.Duration, until <-chan T) (T, time.Duration) {
	t.Helper()
	start := clock.Now()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case value := <-until:
			return value, clock.Since(start)
		case <-time.After(time.Millisecond):
			if clock.HasWaiters() {
				clock.Step(step)
			}
		}
	}
	t.Fatal("nothing happened in time")
	panic("unreachable")
}

func bothProtocols(t *testing.T, test func(*testing.T, *scene)) {
	t.Helper()
	for _, protocol := range []string{"h2", "http/1.1"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			test(t, newScene(t, protocol))
		})
	}
}

// TestFaultConformance is what every fault must pass: inject, hit, heal, clean.
func TestFaultConformance(t *testing.T) {
	t.Parallel()
	for _, f := range []link.Fault{
		wire.Cut{}, wire.Cut{Direction: wire.ToServer}, wire.Cut{Direction: wire.ToClient}, wire.Cut{Refuse: true},
		wire.Latency{Delay: time.Hour}, wire.Latency{Delay: time.Hour, Jitter: time.Minute, Direction: wire.ToClient},
		wire.Bandwidth{BytesPerSecond: 1}, wire.Bandwidth{BytesPerSecond: 1, Direction: wire.ToServer},
		wire.Reset{}, wire.Loss{Chance: wire.Chance{Percent: 100}},
		wire.Duplicate{Direction: wire.ToServer, Chance: wire.Chance{Percent: 100}},
	} {
		t.Run(f.Name(), func(t *testing.T) {
			t.Parallel()
			bothProtocols(t, func(t *testing.T, s *scene) {
				i := s.link.Begin(f)
				if i.Healed() || len(s.link.Injections()) != 1 || s.link.Injections()[0].Fault() != f {
					t.Errorf("the link has the injections %v", s.link.Injections())
				}
				if n := s.link.Stats().Faults; n != 1 {
					t.Errorf("%d faults are at work", n)
				}
				call := get(t, s.client("h2"), s.link.URL())
				_, copies := f.(wire.Duplicate)               // which hit nobody who need not wait for them
				if !copies && f != (wire.Cut{Refuse: true}) { // whom the kernel refuses nobody sees
					eventually(t, "the fault has hit", func() bool { return i.Hits() > 0 })
				}
				i.Heal()
				s.expectClean(t)
				if !i.Healed() || len(s.link.Injections()) != 0 || s.link.Stats().Faults != 0 {
					t.Errorf("the link still has the injections %v", s.link.Injections())
				}
				wait(t, call) // it may have met the fault until now
				hits := i.Hits()
				s.expectClean(t)
				if i.Hits() != hits || s.link.Stats().Hits != int64(hits) {
					t.Errorf("%d hits, %d after the heal; the link counts %d", hits, i.Hits(), s.link.Stats().Hits)
				}
			})
		})
	}
}

// TestHits_NoTraffic_IsZero: a fault that nobody meets must not count a hit.
func TestHits_NoTraffic_IsZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(1))
	l := w.link(t, link.Options{})
	// All of the answer: the faults would hit what of it is still on its way.
	_, _ = io.Copy(io.Discard, open(t, w.client("http/1.1"), l.URL()).Body)
	for _, f := range []link.Fault{wire.Cut{}, wire.Latency{Delay: time.Second}, wire.Bandwidth{BytesPerSecond: 1}} {
		i := l.Begin(f)
		i.Heal()
		if i.Hits() != 0 {
			t.Errorf("%s has %d hits without any traffic", f.Name(), i.Hits())
		}
	}
}

func TestCutFreezesThenBreaksWatch(t *testing.T) {
	t.Parallel()
	bothProtocols(t, func(t *testing.T, s *scene) {
		i := s.link.Begin(wire.Cut{})
		rest := async(func() (string, error) { all, err := io.ReadAll(s.watch); return string(all), err })
		s.send(t, "lost\n")
		eventually(t, "the event is held back", func() bool { return i.Hits() > 0 })
		select {
		case got := <-rest:
			t.Fatalf("the watch ended in the cut with %q, %v", got.value, got.err)
		case err := <-s.left:
			t.Fatalf("the server noticed the cut: %v", err)
		default:
		}
		i.Heal()
		if got := wait(t, rest); got.value != "" || got.err == nil {
			t.Errorf("after the heal the watch returned %q, %v; want a dead connection", got.value, got.err)
		}
		if err := wait(t, s.left); !errors.Is(err, errLeft) {
			t.Errorf("the server saw %v", err)
		}
	})
}

func TestCutHangsNewConnections(t *testing.T) {
	t.Parallel()
	s := newScene(t, "h2")
	heal := s.link.Inject(wire.Cut{})
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.link.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, connections := s.client("h2"), s.link.Stats().Connections
	call := async(func() (*http.Response, error) { return client.Do(request) })
	eventually(t, "the connection is accepted", func() bool { return s.link.Stats().Connections > connections })
	cancel()
	if got := wait(t, call); !errors.Is(got.err, context.Canceled) {
		t.Errorf("the call returned %v, want that it was cancelled", got.err)
	}
	heal()
	eventually(t, "cut connections are closed", func() bool { return s.link.Stats().OpenConnections == 0 })
	s.expectClean(t)
}

// TestHealsOnce: a second heal does not break connections that were opened after the first.
func TestHealsOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, "h2")
	heal := s.link.Inject(wire.Cut{})
	heal()
	if err := wait(t, s.left); !errors.Is(err, errLeft) {
		t.Fatalf("the server saw %v", err)
	}
	watch := open(t, s.client("h2"), s.link.URL()+"/watch")
	heal()
	s.send(t, "after\n")
	expectChunk(t, watch.Body, "after\n")
}

// TestCutDirections: a cut to the server loses the request, a cut to the client only the answer.
func TestCutDirections(t *testing.T) {
	t.Parallel()
	for direction, arrives := range map[wire.Direction]bool{wire.ToServer: false, wire.ToClient: true} {
		t.Run(string(direction), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "h2")
			client := s.client("h2")
			if got := wait(t, get(t, client, s.link.URL())); got.err != nil {
				t.Fatal(got.err)
			}
			i := s.link.Begin(wire.Cut{Direction: direction})
			call, sent := getTraced(t, client, s.link.URL())
			_ = wait(t, sent) // what the cut hits may be older, such as an acknowledgement of settings
			eventually(t, "the cut has hit", func() bool { return i.Hits() > 0 })
			if arrives {
				eventually(t, "the request arrives", func() bool { return s.reached.Load() == 2 })
			} else {
				// The other direction is open: the watch goes on.
				s.send(t, "still\n")
				expectChunk(t, s.watch, "still\n")
			}
			i.Heal()
			if got := wait(t, call); got.err == nil {
				t.Errorf("the call returned %q, want a dead connection", got.value)
			}
			if want := int64(map[bool]int{true: 2, false: 1}[arrives]); s.reached.Load() != want {
				t.Errorf("%d requests reached the server, want %d", s.reached.Load(), want)
			}
		})
	}
}

func TestCutRefuses(t *testing.T) {
	t.Parallel()
	s := newScene(t, "h2")
	first, second := s.link.Begin(wire.Cut{Refuse: true}), s.link.Begin(wire.Cut{Refuse: true})
	for range 2 {
		if got := wait(t, get(t, s.client("h2"), s.link.URL())); !errors.Is(got.err, syscall.ECONNREFUSED) {
			t.Errorf("a new connection got %q, %v", got.value, got.err)
		}
		first.Heal() // the other still refuses
	}
	second.Heal()
	s.expectClean(t)
}

func TestResetBreaksOpenAndNewConnections(t *testing.T) {
	t.Parallel()
	bothProtocols(t, func(t *testing.T, s *scene) {
		i := s.link.Begin(wire.Reset{})
		rest := async(func() (string, error) { all, err := io.ReadAll(s.watch); return string(all), err })
		if got := wait(t, rest); !isReset(got.err) {
			t.Errorf("the watch returned %q, %v; want a reset", got.value, got.err)
		}
		if i.Hits() != 1 {
			t.Errorf("%d hits, want 1, by the open connection", i.Hits())
		}
		for n := range 3 {
			if got := wait(t, get(t, s.client("http/1.1"), s.link.URL())); !isReset(got.err) {
				t.Errorf("a new connection returned %q, %v; want a reset", got.value, got.err)
			}
			if i.Hits() != 2+n {
				t.Errorf("%d hits after %d new connections", i.Hits(), n+1)
			}
		}
		i.Heal()
		s.expectClean(t)
	})
}

// isReset: the client may write its hello into the reset connection (EPIPE) before it reads.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		(err != nil && strings.Contains(err.Error(), "connection reset by peer"))
}

func TestLatencyDelaysEachDirection(t *testing.T) {
	t.Parallel()
	for direction, trips := range map[wire.Direction]time.Duration{wire.Both: 2, wire.ToServer: 1, wire.ToClient: 1} {
		t.Run(string(direction), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "h2")
			client := s.client("h2")
			if got := wait(t, get(t, client, s.link.URL())); got.err != nil {
				t.Fatal(got.err)
			}
			i := s.link.Begin(wire.Latency{Direction: direction, Delay: time.Minute})
			got, took := pass(t, s.clock, time.Second, get(t, client, s.link.URL()))
			if got.value != "ok" || took < trips*time.Minute || took > (trips+1)*time.Minute {
				t.Errorf("got %q, %v after %s, want an answer after %s", got.value, got.err, took, trips*time.Minute)
			}
			i.Heal()
			s.send(t, "after\n") // the open watch lives on, without delay
			expectChunk(t, s.watch, "after\n")
		})
	}
}

// TestLatencyDeliversBeforeClose: a connection that is closed after its answer is closed late too.
func TestLatencyDeliversBeforeClose(t *testing.T) {
	t.Parallel()
	s := newScene(t, "h2")
	defer s.link.Inject(wire.Latency{Direction: wire.ToClient, Delay: time.Minute})()
	client := s.clientOf(&http.Transport{DisableKeepAlives: true}, "http/1.1")
	if got, _ := pass(t, s.clock, time.Second, get(t, client, s.link.URL())); got.value != "ok" {
		t.Errorf("got %q, %v", got.value, got.err)
	}
}

// TestLatencyKeepsThroughput: many bytes under way at a time take little longer than one.
func TestLatencyKeepsThroughput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(random(big)) }))
	clock := testingclock.NewFakeClock(time.Now())
	l := w.link(t, link.Options{Clock: clock})
	client := w.client("http/1.1")
	_, _ = io.Copy(io.Discard, open(t, client, l.URL()).Body)
	defer l.Inject(wire.Latency{Direction: wire.ToClient, Delay: time.Second})()
	got, took := pass(t, clock, 10*time.Millisecond, get(t, client, l.URL()))
	if len(got.value) != big || took < time.Second || took > 5*time.Minute {
		t.Errorf("got %d bytes, %v after %s", len(got.value), got.err, took)
	}
}

func TestJitterStaysInBounds(t *testing.T) {
	t.Parallel()
	s := newScene(t, "h2")
	defer s.link.Inject(wire.Latency{Direction: wire.ToClient, Delay: time.Minute, Jitter: 30 * time.Second})()
	seen := map[time.Duration]bool{}
	for range 10 {
		s.send(t, "tick\n")
		chunk := async(func() (int, error) { return io.ReadFull(s.watch, make([]byte, 5)) })
		_, took := pass(t, s.clock, time.Second, chunk)
		if took < 30*time.Second || took > 100*time.Second {
			t.Errorf("an event took %s, want a minute give or take half of one", took)
		}
		seen[took] = true
	}
	if len(seen) < 3 {
		t.Errorf("ten events took only %d different times", len(seen))
	}
}

func TestBandwidthLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(random(1 << 20)) }))
	clock := testingclock.NewFakeClock(time.Now())
	l := w.link(t, link.Options{Clock: clock})
	i := l.Begin(wire.Bandwidth{BytesPerSecond: 64 << 10, Direction: wire.ToClient})
	done := make(chan result[string], 2) // two connections share the link
	for range 2 {
		call := get(t, w.client("h2"), l.URL())
		go func() { done <- <-call }()
	}
	_, first := pass(t, clock, 50*time.Millisecond, done)
	got, second := pass(t, clock, 50*time.Millisecond, done)
	if took := first + second; len(got.value) != 1<<20 || took < 32*time.Second || took > 5*time.Minute {
		t.Errorf("2 MiB at 64 KiB/s: got %d bytes, %v after %s, want at least 32 s", len(got.value), got.err, took)
	}
	i.Heal()
	if got := wait(t, get(t, w.client("h2"), l.URL())); len(got.value) != 1<<20 {
		t.Errorf("after the heal: %d bytes, %v", len(got.value), got.err)
	}
}

// TestFaultsAddUp: of several faults each does its harm, and healing one leaves the others.
func TestFaultsAddUp(t *testing.T) {
	t.Parallel()
	s := newScene(t, "h2")
	client := s.client("h2")
	_ = wait(t, get(t, client, s.link.URL()))
	slow, slower := s.link.Begin(wire.Latency{Delay: time.Minute}), s.link.Begin(wire.Latency{Delay: time.Hour})
	call := get(t, client, s.link.URL())
	eventually(t, "both have hit", func() bool { return slow.Hits() > 0 && slower.Hits() > 0 })
	slower.Heal()
	if got, took := pass(t, s.clock, time.Second, call); got.value != "ok" || took < 2*time.Minute ||
		took > 5*time.Minute {
		t.Errorf("got %q, %v after %s, want the shorter latency's two minutes", got.value, got.err, took)
	}
	slow.Heal()
	s.expectClean(t)
}

// TestFaultsOnUpgrade: an exec session has left HTTP, and is harmed all the same.
func TestFaultsOnUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(shouting))
	l := w.link(t, link.Options{})
	conn, reader := upgraded(t, w, l)
	expectShout(t, conn, reader, "hello")
	heal := l.Inject(wire.Latency{Delay: time.Millisecond})
	expectShout(t, conn, reader, "slowly")
	heal()
	expectShout(t, conn, reader, "again")
	i := l.Begin(wire.Reset{})
	defer i.Heal()
	if _, err := reader.ReadString('\n'); !isReset(err) || i.Hits() != 1 {
		t.Errorf("the session ended with %v, the fault has %d hits", err, i.Hits())
	}
}

// TestCloseUnderFault leaves nothing behind, whatever acts on the link; TestMain looks for leaks.
func TestCloseUnderFault(t *testing.T) {
	t.Parallel()
	for _, f := range []link.Fault{wire.Cut{}, wire.Latency{Delay: time.Hour}, wire.Bandwidth{BytesPerSecond: 1},
		wire.Cut{Refuse: true}} {
		s := newScene(t, "h2")
		i := s.link.Begin(f)
		s.send(t, "held\n")
		eventually(t, "the fault has hit", func() bool { return i.Hits() > 0 })
		if err := s.link.Close(); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
		if got := wait(t, get(t, s.client("h2"), s.link.URL())); !errors.Is(got.err, syscall.ECONNREFUSED) {
			t.Errorf("%s: a closed link answers %q, %v", f.Name(), got.value, got.err)
		}
		if open := s.link.Stats().OpenConnections; open != 0 {
			t.Errorf("%s: a closed link has %d connections", f.Name(), open)
		}
		i.Heal()
		if err := s.link.Close(); err != nil {
			t.Errorf("%s: second close: %v", f.Name(), err)
		}
	}
}

func TestInvalidFaultPanics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(1))
	l := w.link(t, link.Options{})
	defer func() {
		if got, want := recover(), "inject Latency(Both,0s): delay 0s: must be positive"; got != want {
			t.Errorf("got the panic %v, want %q", got, want)
		}
	}()
	l.Inject(wire.Latency{})
}
