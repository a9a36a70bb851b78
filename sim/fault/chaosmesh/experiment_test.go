package chaosmesh_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// ground of the checks: seed a has the shoot alpha.
var ground = landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}},
	Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}

// at is where the experiment stands in a file.
var at = field.NewPath("fault", "object")

// patience bounds every wait of the tests.
const patience = time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func experimentOf(t *testing.T, kind, spec string) chaosmesh.Experiment {
	t.Helper()
	e, err := parse(kind, spec)
	must(t, err)
	return e
}

func parse(kind, spec string) (e chaosmesh.Experiment, err error) {
	content, err := yaml.YAMLToJSON([]byte("apiVersion: chaos-mesh.org/v1alpha1\nkind: " + kind +
		"\nmetadata: {name: x, namespace: garden}\nspec: {" + spec + "}\n"))
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(content, &e)
}

const (
	gardenlets = "selector: {namespaces: [garden], labelSelectors: {app: gardenlet}}, mode: all"
	partition  = gardenlets + ", action: partition, direction: to, externalTargets: [garden]"
)

// podSpy is a world that knows the parts of pods, and notes every harm.
type podSpy struct {
	*worldtest.World
	all    []any
	pods   []types.UID
	server string
	heals  int
	onHeal func() // called at every heal, if it is set
}

func (s *podSpy) injection() (world.Injection, error) {
	return world.Injection{
		Heal: func(context.Context) error {
			s.heals++
			if s.onHeal != nil {
				s.onHeal()
			}
			return nil
		},
		Hits: func() int { return 3 },
	}, nil
}

func (s *podSpy) BreakLink(_ context.Context, actor, target string, f link.Fault, _ requests.Hook) (world.Injection,
	error) {
	s.all = append(s.all, actor+"→"+target, f)
	return s.injection()
}

func (s *podSpy) BreakPods(_ context.Context, cluster string, pods []types.UID, containers []string,
	keep bool) (world.Injection, error) {
	s.all, s.pods = append(s.all, cluster, containers, keep), pods
	return s.injection()
}

func (s *podSpy) Parts(_ context.Context, cluster string, pods []corev1.Pod) (actors, targets []string, err error) {
	for _, pod := range pods {
		actors = append(actors, pod.Labels["app"]+"-"+cluster)
	}
	return actors, []string{s.server}, nil
}

// crowd makes pods on cluster a: two gardenlets and one other.
func crowd(t *testing.T) *podSpy {
	t.Helper()
	s := &podSpy{World: worldtest.New(t, "a"), server: "shoot/alpha"}
	config, err := s.Connect("a")
	must(t, err)
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	for name, app := range map[string]string{"g-1": "gardenlet", "g-2": "gardenlet", "other": "extensions"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: name,
			Labels: map[string]string{"app": app}, Annotations: map[string]string{"name": name}}}
		_, err := c.CoreV1().Pods("garden").Create(t.Context(), pod, metav1.CreateOptions{})
		must(t, err)
	}
	return s
}

func TestChaosIsCarriedOut(t *testing.T) {
	t.Parallel()
	one := "selector: {namespaces: [garden], labelSelectors: {app: extensions}}, mode: one"
	for name, c := range map[string]struct {
		kind, spec string
		want       []any
		pods       int
	}{
		"partition": {"NetworkChaos", one + ", action: partition, direction: both, externalTargets: [garden, cloud]",
			[]any{"extensions-a→garden", wire.Cut{Direction: wire.Both}, "extensions-a→cloud", wire.Cut{Direction: wire.Both}},
			0},
		"reject": {"NetworkChaos", one + ", action: partition, partitionBehavior: reject, externalTargets: [garden]",
			[]any{"extensions-a→garden", wire.Cut{Direction: wire.ToServer, Refuse: true}}, 0},
		"delay": {"NetworkChaos", one + ", action: delay, delay: {latency: 90ms, jitter: 10ms}, externalTargets: [shoots]",
			[]any{"extensions-a→shoots", wire.Latency{Direction: wire.ToServer, Delay: 90 * time.Millisecond,
				Jitter: 10 * time.Millisecond}}, 0},
		"bandwidth": {"NetworkChaos",
			one + ", action: bandwidth, bandwidth: {rate: 1mbps, limit: 100, buffer: 100}, externalTargets: [a]",
			[]any{"extensions-a→a", wire.Bandwidth{Direction: wire.ToServer, BytesPerSecond: 1_000_000}}, 0},
		"netem without targets": {"NetworkChaos", one + ", action: netem, delay: {latency: 1s}", []any{
			"extensions-a→garden", wire.Latency{Direction: wire.ToServer, Delay: time.Second}, "extensions-a→cloud",
			wire.Latency{Direction: wire.ToServer, Delay: time.Second},
			"extensions-a→shoots", wire.Latency{Direction: wire.ToServer, Delay: time.Second}, "extensions-a→a",
			wire.Latency{Direction: wire.ToServer, Delay: time.Second},
		}, 0},
		"container-kill": {"PodChaos", gardenlets + ", action: container-kill, containerNames: [gardenlet]",
			[]any{"a", []string{"gardenlet"}, false}, 2},
		"pod-failure": {"PodChaos", "selector: {pods: {garden: [other]}}, mode: all, action: pod-failure, duration: 1h",
			[]any{"a", []string(nil), true}, 1},
		"fixed": {"PodChaos", "selector: {}, mode: fixed, value: '2', action: pod-failure",
			[]any{"a", []string(nil), true}, 2},
		"percent": {"PodChaos", gardenlets[:len(gardenlets)-3] + "fixed-percent, value: '50', action: pod-failure",
			[]any{"a", []string(nil), true}, 1},
		"random percent": {"PodChaos",
			gardenlets[:len(gardenlets)-3] + "random-max-percent, value: '10', action: pod-failure",
			[]any{"a", []string(nil), true}, 1},
		"annotations": {"PodChaos", "selector: {annotationSelectors: {name: g-1}}, mode: all, action: pod-failure",
			[]any{"a", []string(nil), true}, 1},
		"phases": {"PodChaos", "selector: {podPhaseSelectors: [Running]}, mode: all, action: pod-failure",
			[]any{"a", []string(nil), true}, 3},
		"expressions": {"PodChaos",
			"selector: {expressionSelectors: [{key: app, operator: NotIn, values: [gardenlet]}]}, " +
				"mode: all, action: pod-failure",
			[]any{"a", []string(nil), true}, 1},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s, f := crowd(t), experimentOf(t, c.kind, c.spec)
			if errs := f.Check(at, ground); len(errs) > 0 {
				t.Fatal(errs)
			}
			injection, err := f.Inject(t.Context(), s, "a")
			must(t, err)
			if diff := cmp.Diff(c.want, s.all); diff != "" || len(s.pods) != c.pods {
				t.Errorf("%d pods (-want +got):\n%s", len(s.pods), diff)
			}
			must(t, injection.Heal(t.Context()))
			if s.heals == 0 || injection.Hits() == 0 {
				t.Errorf("healed %d times, %d hits", s.heals, injection.Hits())
			}
		})
	}
}

func TestHTTPChaos(t *testing.T) {
	t.Parallel()
	servers := gardenlets + ", port: 6443"
	for spec, want := range map[string]link.Fault{
		servers + ", target: Request, method: POST, path: /api/*, abort: true": requests.Abort{
			Match: kubeapi.Match{Method: "POST", Path: "/api/*"}, At: requests.Before},
		servers + ", target: Response, abort: true": requests.Abort{At: requests.After},
		servers + ", target: Response, delay: 2s": requests.Delay{
			Delay: metav1.Duration{Duration: 2 * time.Second}, At: requests.After},
	} {
		s, f := crowd(t), experimentOf(t, "HTTPChaos", spec)
		if errs := f.Check(at, ground); len(errs) > 0 {
			t.Fatal(errs)
		}
		_, err := f.Inject(t.Context(), s, "a")
		must(t, err)
		actors := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}}}.Actors()
		if len(s.all) != 2*len(actors) || s.all[0] != actors[0]+"→shoot/alpha" {
			t.Errorf("harmed %v", s.all)
		}
		if diff := cmp.Diff(want, s.all[1]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestPodKill(t *testing.T) {
	t.Parallel()
	s := crowd(t)
	e := experimentOf(t, "PodChaos", gardenlets+", action: pod-kill, gracePeriod: 0")
	injection, err := e.Inject(t.Context(), s, "a")
	must(t, err)
	if injection.Hits() != 2 {
		t.Errorf("%d pods were deleted", injection.Hits())
	}
	must(t, injection.Heal(t.Context()))
	if _, err := experimentOf(t, "PodChaos", gardenlets+", action: pod-kill").Inject(t.Context(), s, "a"); err == nil ||
		!strings.Contains(err.Error(), "the selector finds none") {
		t.Errorf("got %v", err)
	}
}

// An experiment with a duration ends by itself, and is healed once.
func TestChaosEnds(t *testing.T) {
	t.Parallel()
	s := crowd(t)
	healed := make(chan struct{}, 2)
	s.onHeal = func() { healed <- struct{}{} }
	injection, err := experimentOf(t, "NetworkChaos", partition+", duration: 10ms").Inject(t.Context(), s, "a")
	must(t, err)
	for range 2 { // two actors
		select {
		case <-healed:
		case <-time.After(patience):
			t.Fatal("it does not end")
		}
	}
	must(t, injection.Heal(t.Context()))
	if s.heals != 2 {
		t.Errorf("healed %d times", s.heals)
	}
}

// What our faults cannot do is an ability that no backend of ours has, and has a name.
func TestChaosThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		"do what only Chaos Mesh can: NetworkChaos with loss": {"NetworkChaos",
			gardenlets + ", action: loss, loss: {loss: '25'}"},
		"do NetworkChaos of Chaos Mesh with action duplicate": {"NetworkChaos",
			gardenlets + ", action: duplicate, duplicate: {duplicate: '25'}"},
		"do what only Chaos Mesh can: NetworkChaos with corrupt": {"NetworkChaos",
			gardenlets + ", action: netem, corrupt: {corrupt: '25'}, delay: {latency: 1s}"},
		"do what only Chaos Mesh can: NetworkChaos with target pods": {"NetworkChaos",
			gardenlets + ", action: partition, target: {selector: {}, mode: all}"},
		"do NetworkChaos of Chaos Mesh with device": {"NetworkChaos", partition + ", device: eth0"},
		"do NetworkChaos of Chaos Mesh with no delay": {"NetworkChaos",
			gardenlets + ", action: delay"},
		"do what only Chaos Mesh can: NetworkChaos with reorder, correlation": {"NetworkChaos",
			gardenlets + ", action: delay, delay: {latency: 1s, correlation: '5', reorder: {reorder: '5', gap: 1}}"},
		"do HTTPChaos of Chaos Mesh with replace": {"HTTPChaos",
			gardenlets + ", port: 6443, target: Response, replace: {code: 500}"},
		"do HTTPChaos of Chaos Mesh with port 80": {"HTTPChaos",
			gardenlets + ", port: 80, target: Request, abort: true"},
		"do HTTPChaos of Chaos Mesh with code, request_headers": {"HTTPChaos",
			gardenlets + ", port: 6443, target: Response, abort: true, code: 200, request_headers: {a: b}"},
		"do HTTPChaos of Chaos Mesh with no action": {"HTTPChaos",
			gardenlets + ", port: 6443, target: Response"},
		"do PodChaos of Chaos Mesh with remoteCluster": {"PodChaos",
			gardenlets + ", action: pod-kill, remoteCluster: far"},
		"do PodChaos of Chaos Mesh with action pod-nap": {"PodChaos", gardenlets + ", action: pod-nap"},
		"do IOChaos of Chaos Mesh": {"IOChaos",
			gardenlets + ", action: latency, volumePath: /data"},
		"do StressChaos of Chaos Mesh": {"StressChaos", gardenlets},
		"do TimeChaos of Chaos Mesh": {"TimeChaos",
			gardenlets + ", timeOffset: -10m"},
	} {
		f := experimentOf(t, c[0], c[1])
		if string(f.Needs()) != want {
			t.Errorf("%s needs to %q, want %q", c, f.Needs(), want)
		}
		if _, err := f.Inject(t.Context(), crowd(t), "a"); err == nil || !strings.Contains(err.Error(),
			"this backend cannot "+want) {
			t.Errorf("%s: got %v", c, err)
		}
	}
}

// What no backend can do is refused by the check, at the field that asks for it, with what can be done instead.
func TestChaosThatNobodyCanDo(t *testing.T) {
	t.Parallel()
	const (
		podActions     = "must be pod-kill, container-kill or pod-failure"
		networkActions = "must be partition, delay, bandwidth or netem, or where there is Chaos Mesh loss or corrupt"
		leaveOut       = "no backend can do it in this experiment; leave it out"
	)
	for want, c := range map[string][2]string{
		`fault.object.kind: Invalid value: "IOChaos": no backend can do it; must be HTTPChaos, NetworkChaos or PodChaos`: {
			"IOChaos", gardenlets + ", action: latency, volumePath: /data"},
		`fault.object.kind: Invalid value: "TimeChaos": no backend can do it; must be HTTPChaos, NetworkChaos or PodChaos`: {
			"TimeChaos", gardenlets + ", timeOffset: -10m"},
		`fault.object.spec.action: Required value: ` +
			podActions: {"PodChaos", gardenlets},
		`fault.object.spec.action: Invalid value: "pod-nap": no backend can do it; ` +
			podActions: {"PodChaos", gardenlets + ", action: pod-nap"},
		`fault.object.spec.mode: Required value: must be one of one, all, fixed, fixed-percent, random-max-percent`: {
			"PodChaos", "selector: {}, action: pod-kill"},
		`fault.object.spec.remoteCluster: Forbidden: ` +
			leaveOut: {"PodChaos", gardenlets + ", action: pod-kill, remoteCluster: far"},
		`fault.object.spec.action: Required value: ` +
			networkActions: {"NetworkChaos", gardenlets},
		`fault.object.spec.action: Invalid value: "nap": no backend can do it; ` +
			networkActions: {"NetworkChaos", gardenlets + ", action: nap, delay: {latency: 1s}"},
		`fault.object.spec.delay: Required value: action "delay" needs it`: {
			"NetworkChaos", gardenlets + ", action: delay"},
		`fault.object.spec.loss: Required value: action "loss" needs it`: {
			"NetworkChaos", gardenlets + ", action: loss"},
		`fault.object.spec.delay: Required value: action "netem" needs it, or a rate`: {
			"NetworkChaos", gardenlets + ", action: netem"},
		`fault.object.spec.action: Invalid value: "duplicate": no backend can do it; ` +
			networkActions: {"NetworkChaos", gardenlets + ", action: duplicate, duplicate: {duplicate: '25'}"},
		`fault.object.spec.duplicate: Forbidden: ` +
			leaveOut: {"NetworkChaos", gardenlets + ", action: netem, duplicate: {duplicate: '25'}, delay: {latency: 1s}"},
		`fault.object.spec.device: Forbidden: ` +
			leaveOut: {"NetworkChaos", partition + ", device: eth0"},
		`fault.object.spec.loss: Forbidden: ` +
			leaveOut: {"NetworkChaos", gardenlets + ", action: loss, loss: {loss: '25'}, externalTargets: [garden]"},
		`fault.object.spec.port: Invalid value: 80: no backend can do it; must be 6443, the port of shoots' API servers`: {
			"HTTPChaos", gardenlets + ", port: 80, target: Request, abort: true"},
		`fault.object.spec.replace: Forbidden: ` +
			leaveOut: {"HTTPChaos", gardenlets + ", port: 6443, target: Response, replace: {code: 500}"},
		`fault.object.spec: Invalid value: "no action": must have abort: true or a delay`: {
			"HTTPChaos", gardenlets + ", port: 6443, target: Response"},
	} {
		errs := experimentOf(t, c[0], c[1]).Check(at, ground)
		if len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", c, errs, want)
		}
	}
	for _, kind := range []string{"PodChaos", "NetworkChaos", "HTTPChaos"} {
		var c chaosmesh.Experiment
		must(t, json.Unmarshal([]byte(`{"apiVersion":"chaos-mesh.org/v1alpha1","kind":"`+kind+`","metadata":{"name":"x"}}`),
			&c))
		const want = "fault.object.spec: Required value: says what is done, and to which pods"
		if errs := c.Check(at, ground); len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%s without a spec: got\n%v\nwant\n%s", kind, errs, want)
		}
	}
}

// What only Chaos Mesh can do is fine by itself; a backend that cannot do it names the field that asks for it.
func TestChaosBeyondLinks(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		"spec.loss": {"NetworkChaos", gardenlets + ", action: loss, loss: {loss: '25'}"},
		"spec.delay.reorder": {"NetworkChaos",
			gardenlets + ", action: delay, delay: {latency: 1s, reorder: {reorder: '5', gap: 1}}"},
		"": {"NetworkChaos", partition},
	} {
		f := experimentOf(t, c[0], c[1])
		if errs := f.Check(at, ground); len(errs) > 0 {
			t.Errorf("%s: %v", c, errs)
		}
		if got := f.Beyond(); got != want {
			t.Errorf("%s: got %q, want %q", c, got, want)
		}
	}
}

// Empty experiments of all kinds can be looked at.
func TestEmptyChaos(t *testing.T) {
	t.Parallel()
	for kind := range v1alpha1.AllKinds() {
		for _, spec := range []string{"", "selector: {}", "mode: one", "action: x"} {
			f, err := parse(kind, spec)
			if err != nil {
				continue // not every kind has these fields
			}
			if errs := f.Check(at, ground); len(errs) == 0 && f.Needs() == "" {
				t.Errorf("%s is fine", f.Name("a"))
			}
		}
	}
}

// What Chaos Mesh would refuse is refused, and what names nothing of the landscape.
func TestCheckChaos(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		`externalTargets[0]: Unsupported value: "moon"`: {"NetworkChaos",
			gardenlets + ", action: partition, externalTargets: [moon]"},
		`direction "up": must be to, from or both`: {"NetworkChaos",
			gardenlets + ", action: partition, direction: up"},
		"`from` and `both` direction cannot be used when targets is empty": {"NetworkChaos",
			gardenlets + ", action: delay, direction: both, delay: {latency: 1s}"},
		`fault.object.spec.delay.latency: Invalid value`: {"NetworkChaos",
			gardenlets + ", action: delay, delay: {latency: soon}"},
		`fault.object.spec.bandwidth.rate: Invalid value: "5"`: {"NetworkChaos",
			gardenlets + ", action: bandwidth, bandwidth: {rate: '5', limit: 1, buffer: 1}"},
		`jitter 2s: must be between 0 and the delay 1s`: {"NetworkChaos",
			gardenlets + ", action: delay, delay: {latency: 1s, jitter: 2s}"},
		`fault.object.spec.duration: Invalid value`: {"PodChaos",
			gardenlets + ", action: pod-failure, duration: soon"},
		`the name of container is required`: {"PodChaos",
			gardenlets + ", action: container-kill"},
		`mode fixed needs how many pods, such as "1"`: {"PodChaos",
			"selector: {}, mode: fixed, value: '0', action: pod-kill"},
		`fault.object.spec.mode: Unsupported value: "some"`: {"PodChaos",
			"selector: {}, mode: some, action: pod-kill"},
		`fault.object.spec.duration: Invalid value: "-1s": must not be`: {"PodChaos",
			gardenlets + ", action: pod-failure, duration: -1s"},
		`the rate "0mbit": must be above 0`: {"NetworkChaos",
			gardenlets + ", action: bandwidth, bandwidth: {rate: 0mbit, limit: 1, buffer: 1}"},
		`method SING is not supported`: {"HTTPChaos",
			gardenlets + ", port: 6443, target: Request, method: SING, abort: true"},
	} {
		errs := experimentOf(t, c[0], c[1]).Check(at, ground)
		if !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%s: %v, want %q", c, errs, want)
		}
	}
	for want, c := range map[string][2]string{
		`kind: is "Schedule"; must be HTTPChaos, NetworkChaos or PodChaos`: {"Schedule", "schedule: daily"},
		`kind: is "Pod"; must be HTTPChaos, NetworkChaos or PodChaos`:      {"Pod", ""},
		`spec.modus: unknown field; did you mean "mode"?`:                  {"PodChaos", "modus: one"},
	} {
		if _, err := parse(c[0], c[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c, err, want)
		}
	}
	if err := new(chaosmesh.Experiment).UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"PodChaos"}`)); err == nil ||
		!strings.Contains(err.Error(), `apiVersion: is "v1"; must be "chaos-mesh.org/v1alpha1"`) {
		t.Errorf("got %v", err)
	}
}
