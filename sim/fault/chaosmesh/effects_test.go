package chaosmesh_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// linked is a world in which one link is real: that of users to the shoot alpha.
type linked struct {
	*podSpy
	empty  world.World // of pods
	link   *link.Link
	client *http.Client
	bug    bug
}

// bug is something that can be planted between an experiment and the link.
type bug string

const (
	noBug          bug = ""
	selectsNothing bug = "the experiment selects no pod"
	neverRemoved   bug = "the fault stays after the heal"
	otherSide      bug = "the fault is on the other side of the link"
)

// big is what a download or an upload has.
const big = 20_000

func newLinked(t *testing.T, planted bug) *linked {
	t.Helper()
	ca, err := pki.NewAuthority("test", time.Now())
	must(t, err)
	certificate, err := ca.IssueServing("127.0.0.1", time.Now())
	must(t, err)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/big" {
			_, _ = w.Write(bytes.Repeat([]byte("x"), big))
		}
	}))
	t.Cleanup(server.Close)
	upstream, err := url.Parse(server.URL)
	must(t, err)
	l, err := link.New(link.Options{Actor: "user", Target: "shoot/alpha", Listen: "127.0.0.1:0", Certificate: *certificate,
		Upstream: upstream, UpstreamTLS: server.Client().Transport.(*http.Transport).TLSClientConfig,
		Random: rand.New(rand.NewPCG(1, 2))})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
	t.Cleanup(transport.CloseIdleConnections)
	return &linked{podSpy: crowd(t), empty: worldtest.New(t, "a"), link: l, bug: planted,
		client: &http.Client{Transport: transport}}
}

// BreakLink harms the link of users, and no other.
func (w *linked) BreakLink(_ context.Context, actor, target string, f link.Fault, _ requests.Hook) (world.Injection,
	error) {
	if actor != "user" || target != "shoot/alpha" {
		return nothing(), nil
	}
	if slow, is := f.(wire.Bandwidth); is && w.bug == otherSide {
		slow.Direction = wire.ToServer
		f = slow
	}
	i := w.link.Begin(f)
	return world.Injection{Hits: i.Hits, Heal: func(context.Context) error {
		if w.bug != neverRemoved {
			i.Heal()
		}
		return nil
	}}, nil
}

func (w *linked) Connect(cluster string) (*rest.Config, error) {
	if w.bug == selectsNothing {
		return w.empty.Connect(cluster)
	}
	return w.podSpy.Connect(cluster)
}

func nothing() world.Injection {
	return world.Injection{Hits: func() int { return 0 }, Heal: func(context.Context) error { return nil }}
}

// answer is what a user gets, and how long that takes.
type answer struct {
	took time.Duration
	code int
	x    string // the header that an experiment adds
	err  error
}

func (w *linked) ask(ctx context.Context, method, path string, body []byte) (got answer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, w.link.URL()+path, bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	began := time.Now()
	response, err := w.client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return answer{time.Since(began), response.StatusCode, response.Header.Get("X-Chaos"), err}
}

// fastest of three: nothing but a fault makes all of them late.
func (w *linked) fastest(ctx context.Context, method, path string, body []byte) (time.Duration, error) {
	var all []time.Duration
	for range 4 { // the first one may open a connection
		got := w.ask(ctx, method, path, body)
		if got.err != nil {
			return 0, got.err
		}
		all = append(all, got.took)
	}
	return slices.Min(all[1:]), nil
}

// probe says whether the user sees an effect, and why not.
type probe func(context.Context, *linked) error

// atLeast so late is every small answer.
func atLeast(late time.Duration) probe {
	return func(ctx context.Context, w *linked) error {
		took, err := w.fastest(ctx, http.MethodGet, "/", nil)
		if err == nil && took < late {
			err = fmt.Errorf("an answer takes %s, want %s", took, late)
		}
		return err
	}
}

// download takes at least so long, and an upload of as much less than half of that.
func download(least time.Duration) probe {
	return func(ctx context.Context, w *linked) error {
		down, err := w.fastest(ctx, http.MethodGet, "/big", nil)
		if err != nil {
			return err
		}
		up, err := w.fastest(ctx, http.MethodPost, "/", make([]byte, big))
		if err == nil && (down < least || up > down/2) {
			err = fmt.Errorf("a download takes %s, an upload %s, want %s at least, and less than half of that", down, up, least)
		}
		return err
	}
}

// thirtyPercent of the answers are sent again.
func thirtyPercent(ctx context.Context, w *linked) error {
	const calls = 60
	late := 0
	for range calls {
		got := w.ask(ctx, http.MethodGet, "/", nil)
		if got.err != nil {
			return got.err
		}
		if got.took >= 200*time.Millisecond {
			late++
		}
	}
	if late < calls*15/100 || late > calls*45/100 {
		return fmt.Errorf("%d of %d answers are late, want 30 %%", late, calls)
	}
	return nil
}

func silent(ctx context.Context, w *linked) error {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if got := w.ask(ctx, http.MethodGet, "/", nil); !errors.Is(got.err, context.DeadlineExceeded) {
		return fmt.Errorf("got %+v, want no answer", got)
	}
	return nil
}

func refused(ctx context.Context, w *linked) error {
	_ = silent(ctx, w) // the open connection; whom the kernel refuses the link does not see
	w.client.CloseIdleConnections()
	if got := w.ask(ctx, http.MethodGet, "/", nil); got.err == nil || !strings.Contains(got.err.Error(), "refused") {
		return fmt.Errorf("got %+v, want a refusal", got)
	}
	return nil
}

func answered(want answer) probe {
	return func(ctx context.Context, w *linked) error {
		if got := w.ask(ctx, http.MethodGet, "/", nil); got.code != want.code || got.x != want.x ||
			(got.err == nil) != (want.err == nil) {
			return fmt.Errorf("got %+v, want %+v", got, want)
		}
		return nil
	}
}

// effect of an experiment on the API server of alpha, as its users see it.
type effect struct {
	kind, spec string
	seen       probe
}

func effects() map[string]effect {
	const ofServer = "mode: all, selector: " + server + ", "
	const request, response = ofServer + "port: 6443, target: Request, ", ofServer + "port: 6443, target: Response, "
	return map[string]effect{
		"delay": {"NetworkChaos", ofServer + "action: delay, delay: {latency: 300ms}", atLeast(300 * time.Millisecond)},
		"loss":  {"NetworkChaos", ofServer + "action: loss, loss: {loss: '30'}", thirtyPercent},
		"loss in runs": {"NetworkChaos", ofServer + "action: loss, loss: {loss: '30', correlation: '25'}",
			thirtyPercent},
		"corrupt": {"NetworkChaos", ofServer + "action: corrupt, corrupt: {corrupt: '30'}", thirtyPercent},
		"duplicate": {"NetworkChaos", ofServer + "action: netem, duplicate: {duplicate: '100'}, rate: {rate: 80kbps}",
			download(2 * big * time.Second / 80_000)},
		"bandwidth": {"NetworkChaos", ofServer + "action: bandwidth, bandwidth: {rate: 80kbps, limit: 1, buffer: 1}",
			download(big * time.Second / 80_000)},
		"partition":               {"NetworkChaos", ofServer + "action: partition", silent},
		"partition with refusals": {"NetworkChaos", ofServer + "action: partition, partitionBehavior: reject", refused},
		"abort":                   {"HTTPChaos", request + "abort: true", answered(answer{err: io.EOF})},
		"late answers":            {"HTTPChaos", response + "delay: 300ms", atLeast(300 * time.Millisecond)},
		"replace":                 {"HTTPChaos", response + "replace: {code: 418}", answered(answer{code: 418})},
		"patch": {"HTTPChaos", response + "patch: {headers: [[X-Chaos, patched]]}",
			answered(answer{code: 200, x: "patched"})},
	}
}

// run an experiment: its effect must not be there before, must be there with hits, and must be gone after the heal.
func (e effect) run(ctx context.Context, t *testing.T, w *linked) (wrong []string) {
	t.Helper()
	if e.seen(ctx, w) == nil {
		wrong = append(wrong, "there is an effect before the experiment")
	}
	experiment := experimentOf(t, e.kind, e.spec)
	if errs := experiment.Check(at, ground); len(errs) > 0 {
		t.Fatal(errs)
	}
	injection, err := experiment.Inject(ctx, w, "a")
	if err != nil {
		return append(wrong, err.Error())
	}
	if err := e.seen(ctx, w); err != nil {
		wrong = append(wrong, err.Error())
	}
	must(t, injection.Heal(ctx))
	if injection.Hits() == 0 {
		wrong = append(wrong, "it has no hits")
	}
	if e.seen(ctx, w) == nil {
		wrong = append(wrong, "there is an effect after the heal")
	}
	return wrong
}

// Each action that links carry out has the effect that its users expect, as somebody sees it who uses the link.
func TestEffects(t *testing.T) {
	t.Parallel()
	for name, e := range effects() {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			if wrong := e.run(t.Context(), t, newLinked(t, noBug)); len(wrong) > 0 {
				t.Error(wrong)
			}
		})
	}
}

// Of many seeds none makes the scenario take a loss of 10 or 50 % for one of 30 %, or refuse that one, even though a
// busy machine is late with some answers. An answer to a user is one packet, and takes two seconds at most.
func TestScenario_LossOfThirtyPercent_IsNoOther(t *testing.T) {
	t.Parallel()
	const seeds, answers, busyOneOf = 100, 40, 100
	s, err := scenario.ParseFile("../../../scenarios/crashes/chaos-mesh-actions.yaml")
	must(t, err)
	judged := map[string]bool{}
	for i, one := range s.Spec.Steps {
		if one.Expect == nil || one.Expect.Samples == 0 {
			continue
		}
		name := s.Spec.Steps[i-1].Fault.Name
		judged[name] = true
		condition, err := expression.Compile(one.Expect.That)
		must(t, err)
		for seed := range uint64(seeds) {
			for _, percent := range []float64{10, 30, 50} {
				roll := rand.New(rand.NewPCG(seed, uint64(percent))).Int64N
				chance := wire.Chance{Percent: percent, Correlation: map[string]float64{"corrupt": 25}[name]}
				loss, start := wire.Loss{Chance: chance}.Start(roll), time.Now()
				var times expression.Durations
				for range one.Expect.Samples * answers {
					took := loss.Release(wire.Transit{Bytes: 700, Arrived: start, Now: start}).Sub(start)
					if roll(busyOneOf) == 0 {
						took += 600 * time.Millisecond
					}
					times = append(times, min(took, 2*time.Second))
				}
				met, why, err := condition.Evaluate(expression.Snapshot{
					Shoots: map[string]expression.Shoot{"alpha": {Exists: true, AnswerTimes: times}}})
				must(t, err)
				if met != (percent == 30) {
					t.Errorf("%s, seed %d: %v %% is taken for 30 %%: %t; %s", name, seed, percent, met, why)
				}
			}
		}
	}
	if !judged["lossy"] || !judged["corrupt"] {
		t.Errorf("only the losses of %v are judged once", judged)
	}
}

// The probes notice bugs in how an experiment is carried out.
func TestEffects_PlantedBug_IsNoticed(t *testing.T) {
	t.Parallel()
	for planted, c := range map[bug]struct{ action, want string }{
		selectsNothing: {"delay", "it has no hits"},
		neverRemoved:   {"replace", "there is an effect after the heal"},
		otherSide:      {"bandwidth", "a download takes"},
	} {
		wrong := effects()[c.action].run(t.Context(), t, newLinked(t, planted))
		if len(wrong) == 0 || !slices.ContainsFunc(wrong, func(s string) bool { return strings.HasPrefix(s, c.want) }) {
			t.Errorf("although %s: %q, want %q", planted, wrong, c.want)
		}
	}
}
