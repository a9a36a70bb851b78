package chaosmesh_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
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
	server     = "{namespaces: [shoot--p--alpha], labelSelectors: {app: kube-apiserver}}"
	partition  = gardenlets + ", action: partition, direction: to, externalTargets: [garden]"
)

// podSpy is a world that knows the parts of pods, and notes every harm.
type podSpy struct {
	*worldtest.World
	all    []any
	pods   []types.UID
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

// everybody has links: a third-party extension, too.
func everybody() []string { return append(landscape.OfSeeds([]string{"a"}).Actors(), "vault-a") }

func (s *podSpy) Parts(_ context.Context, cluster string, pods []corev1.Pod) (parts world.Parts, _ error) {
	parts.All = everybody()
	for _, pod := range pods {
		switch app := pod.Labels["app"]; app {
		case "kube-apiserver":
			parts.Targets = append(parts.Targets, "shoot/alpha")
		case "etcd":
			parts.Actors = append(parts.Actors, "control-planes-"+cluster)
			parts.Others = map[string][]string{"control-planes-" + cluster: {"shoot--p--beta/etcd"}}
		case "unknown":
		default:
			parts.Actors = append(parts.Actors, app+"-"+cluster)
		}
	}
	slices.Sort(parts.Actors)
	parts.Actors = slices.Compact(parts.Actors)
	return parts, nil
}

// crowd makes pods on cluster a: two gardenlets and one other, an API server and an etcd of a shoot and one that nobody
// knows.
func crowd(t *testing.T) *podSpy {
	t.Helper()
	s := &podSpy{World: worldtest.New(t, "a")}
	config, err := s.Connect("a")
	must(t, err)
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	for name, app := range map[string]string{"garden/g-1": "gardenlet", "garden/g-2": "gardenlet",
		"garden/other": "extensions", "shoot--p--alpha/server": "kube-apiserver", "shoot--p--alpha/etcd-main-0": "etcd",
		"default/x": "unknown"} {
		namespace, name, _ := strings.Cut(name, "/")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{"app": app}, Annotations: map[string]string{"name": name}}}
		if app == "gardenlet" { // the others are not scheduled
			pod.Spec.NodeName = "of-" + name
		}
		_, err := c.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
		must(t, err)
	}
	for _, name := range []string{"of-g-1", "of-g-2"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"is": name}}}
		_, err := c.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		must(t, err)
	}
	return s
}

// wayOfEach actor to a target, with a harm.
func wayOfEach(target string, harm link.Fault) (all []any) {
	for _, actor := range everybody() {
		all = append(all, actor+"→"+target, harm)
	}
	return all
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
			[]any{"extensions-a→a", wire.Bandwidth{Direction: wire.ToServer, BytesPerSecond: 1_000_000, Burst: 100}}, 0},
		"bandwidth with a peak": {"NetworkChaos", one + ", action: bandwidth, bandwidth: {rate: 8kbit, limit: 1, " +
			"buffer: 5000, peakrate: 9000, minburst: 1500}, externalTargets: [a]", []any{
			"extensions-a→a", wire.Bandwidth{Direction: wire.ToServer, BytesPerSecond: 1000, Burst: 5000},
			"extensions-a→a", wire.Bandwidth{Direction: wire.ToServer, BytesPerSecond: 9000, Burst: 1500},
		}, 0},
		"from a server to all": {"NetworkChaos", "mode: all, selector: " + server + ", action: delay, delay: {latency: 1s}",
			wayOfEach("shoot/alpha", wire.Latency{Direction: wire.ToClient, Delay: time.Second}), 0},
		"from a control plane to a server of its own": {"NetworkChaos",
			"mode: all, selector: {namespaces: [shoot--p--alpha]}, action: delay, delay: {latency: 1s}, " +
				"externalTargets: [shoots], target: {" + gardenlets + "}",
			[]any{"gardenlet-a→shoot/alpha", wire.Latency{Direction: wire.ToClient, Delay: time.Second}}, 0},
		"loss": {"NetworkChaos", one + ", action: loss, loss: {loss: '25', correlation: '50'}, externalTargets: [a]",
			[]any{"extensions-a→a", wire.Loss{Direction: wire.ToServer, Chance: wire.Chance{Percent: 25, Correlation: 50}}}, 0},
		"a delay without loss": {"NetworkChaos", one + ", action: loss, loss: {loss: '0'}, delay: {latency: 1s, " +
			"reorder: {reorder: '0', correlation: '6', gap: 3}}, externalTargets: [a]",
			[]any{"extensions-a→a", wire.Latency{Direction: wire.ToServer, Delay: time.Second}}, 0},
		"all of netem": {"NetworkChaos", one + ", action: netem, delay: {latency: 1s, jitter: 1s, correlation: '9', " +
			"reorder: {reorder: '5', correlation: '6', gap: 3}}, loss: {loss: '0'}, corrupt: {corrupt: '40'}, " +
			"duplicate: {duplicate: '0.5'}, rate: {rate: 1kbps}, externalTargets: [a]", []any{
			"extensions-a→a", wire.Latency{Direction: wire.ToServer, Delay: time.Second, Jitter: time.Second,
				Correlation: 9, Overtaking: wire.Chance{Percent: 5, Correlation: 6}, Gap: 3},
			"extensions-a→a", wire.Loss{Direction: wire.ToServer, Chance: wire.Chance{Percent: 40}},
			"extensions-a→a", wire.Duplicate{Direction: wire.ToServer, Chance: wire.Chance{Percent: 0.5}},
			"extensions-a→a", wire.Bandwidth{Direction: wire.ToServer, BytesPerSecond: 1000},
		}, 0},
		"to target pods": {"NetworkChaos", one + ", action: partition, target: {mode: all, selector: " + server + "}",
			[]any{"extensions-a→shoot/alpha", wire.Cut{Direction: wire.ToServer}}, 0},
		"from target pods": {"NetworkChaos",
			one + ", action: partition, direction: from, target: {mode: all, selector: " + server + "}",
			[]any{"extensions-a→shoot/alpha", wire.Cut{Direction: wire.ToClient}}, 0},
		"from a server to target pods": {"NetworkChaos", "mode: all, selector: " + server + ", action: delay, " +
			"delay: {latency: 1s}, target: {" + gardenlets + "}",
			[]any{"gardenlet-a→shoot/alpha", wire.Latency{Direction: wire.ToClient, Delay: time.Second}}, 0},
		"both ways between a server and target pods": {"NetworkChaos", "mode: all, selector: " + server +
			", action: partition, direction: both, target: {" + gardenlets + "}",
			[]any{"gardenlet-a→shoot/alpha", wire.Cut{Direction: wire.Both}}, 0},
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
		"percent, rounded up": {"PodChaos", "selector: {}, mode: fixed-percent, value: '34', action: pod-failure",
			[]any{"a", []string(nil), true}, 2},
		"random percent": {"PodChaos",
			gardenlets[:len(gardenlets)-3] + "random-max-percent, value: '10', action: pod-failure",
			[]any{"a", []string(nil), true}, 1},
		"annotations": {"PodChaos", "selector: {annotationSelectors: {name: g-1}}, mode: all, action: pod-failure",
			[]any{"a", []string(nil), true}, 1},
		"nodes": {"PodChaos", "selector: {namespaces: [garden], nodes: [of-g-1]}, mode: all, action: pod-failure",
			[]any{"a", []string(nil), true}, 1},
		"labels of nodes": {"PodChaos", "selector: {namespaces: [garden], nodeSelectors: {is: of-g-2}}, mode: all, " +
			"action: pod-failure", []any{"a", []string(nil), true}, 1},
		"fields": {"PodChaos", "selector: {namespaces: [garden], fieldSelectors: {metadata.name: g-1}}, mode: all, " +
			"action: pod-failure", []any{"a", []string(nil), true}, 1},
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

// An experiment of another cluster is carried out there.
func TestInject_RemoteCluster_IsElsewhere(t *testing.T) {
	t.Parallel()
	s, e := crowd(t), experimentOf(t, "PodChaos", "selector: {}, mode: all, action: pod-failure, remoteCluster: a")
	if errs := e.Check(at, ground); len(errs) > 0 {
		t.Fatal(errs)
	}
	_, err := e.Inject(t.Context(), s, "garden")
	must(t, err)
	if diff := cmp.Diff([]any{"a", []string(nil), true}, s.all); diff != "" ||
		e.Name("garden") != "chaos(a,PodChaos pod-failure)" {
		t.Errorf("%s (-want +got):\n%s", e.Name("garden"), diff)
	}
}

func TestHTTPChaos(t *testing.T) {
	t.Parallel()
	const servers = "mode: all, selector: " + server + ", port: 6443, "
	for spec, want := range map[string][]link.Fault{
		"target: Request, method: POST, path: /api/*, request_headers: {a: b}, abort: true": {requests.Abort{
			Match: kubeapi.Match{Method: "POST", Path: "/api/*", Headers: map[string]string{"a": "b"}}, At: requests.Before}},
		"target: Response, abort: true, code: 404, response_headers: {a: b}": {requests.Abort{At: requests.After,
			Answers: requests.Answers{Code: 404, Headers: map[string]string{"a": "b"}}}},
		"target: Response, delay: 2s": {requests.Delay{Delay: metav1.Duration{Duration: 2 * time.Second},
			At: requests.After}},
		"target: Request, replace: {path: /a, method: GET, queries: {q: r}, headers: {h: i}, body: eA==}": {requests.Rewrite{
			At: requests.Before, Replace: requests.Replacement{Path: "/a", Method: "GET",
				Queries: map[string]string{"q": "r"}, Headers: map[string]string{"h": "i"}, Body: []byte("x")}}},
		"target: Request, patch: {queries: [[q, r]], headers: [[h, i]], body: {type: JSON, value: '{}'}}": {requests.Rewrite{
			At: requests.Before, Patch: requests.Patch{Queries: [][2]string{{"q", "r"}}, Headers: [][2]string{{"h", "i"}},
				Body: json.RawMessage("{}")}}},
		"target: Response, code: 200, delay: 1s, replace: {code: 500}, patch: {headers: [[h, i]]}": {
			requests.Rewrite{At: requests.After, Answers: requests.Answers{Code: 200},
				Replace: requests.Replacement{Code: 500}, Patch: requests.Patch{Headers: [][2]string{{"h", "i"}}}},
			requests.Delay{At: requests.After, Answers: requests.Answers{Code: 200},
				Delay: metav1.Duration{Duration: time.Second}},
		},
	} {
		s, f := crowd(t), experimentOf(t, "HTTPChaos", servers+spec)
		if errs := f.Check(at, ground); len(errs) > 0 {
			t.Fatal(errs)
		}
		_, err := f.Inject(t.Context(), s, "a")
		must(t, err)
		actors := everybody()
		if len(s.all) != 2*len(actors)*len(want) || s.all[0] != actors[0]+"→shoot/alpha" {
			t.Fatalf("harmed %v", s.all)
		}
		for i := range want {
			if diff := cmp.Diff(want[i], s.all[2*i+1]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", spec, diff)
			}
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
}

// An experiment that selects no pods, or is to part them from none, hits nothing. One whose pods no link leads to would
// hit nothing either, although it selects some: that is refused.
func TestInject_NothingToHit_HasNoHits(t *testing.T) {
	t.Parallel()
	const none = "{labelSelectors: {app: none}}"
	for _, c := range [][2]string{
		{"PodChaos", "mode: all, action: pod-kill, selector: " + none},
		{"PodChaos", "mode: one, action: pod-failure, selector: {pods: {garden: [none]}}"},
		{"PodChaos", "mode: fixed, value: '3', action: container-kill, containerNames: [c], selector: " + none},
		{"NetworkChaos", "mode: all, action: partition, selector: " + none},
		{"NetworkChaos", gardenlets + ", action: partition, target: {mode: all, selector: " + none + "}"},
		{"HTTPChaos", "mode: all, port: 6443, target: Request, abort: true, selector: " + none},
	} {
		s := crowd(t)
		injection, err := experimentOf(t, c[0], c[1]).Inject(t.Context(), s, "a")
		must(t, err)
		if injection.Hits() != 0 || len(s.all) != 0 {
			t.Errorf("%s: %d hits, %v", c, injection.Hits(), s.all)
		}
		must(t, injection.Heal(t.Context()))
	}
	for want, c := range map[string][2]string{
		"find the links of 1 pods of cluster \"a\": there is none; links lead from actors to API servers of clusters and " +
			"shoots, and to the cloud: select such pods, or name externalTargets": {"NetworkChaos",
			"selector: {namespaces: [default]}, mode: all, action: partition"},
		"find the links of 2 pods": {"NetworkChaos",
			gardenlets + ", action: partition, target: {mode: all, selector: {labelSelectors: {app: extensions}}}"},
		`harm the link of control-planes-a to garden: these pods share it, and are not selected: shoot--p--beta/etcd; ` +
			"select them, too, or none of them": {"NetworkChaos",
			"selector: {namespaces: [shoot--p--alpha]}, mode: all, action: partition"},
		"find the API servers of shoots in 2 pods of cluster \"a\": there is none": {"HTTPChaos",
			gardenlets + ", port: 6443, target: Request, abort: true"},
	} {
		if _, err := experimentOf(t, c[0], c[1]).Inject(t.Context(), crowd(t), "a"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", c, err, want)
		}
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
	select {
	case <-healed:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	must(t, injection.Heal(t.Context()))
	if s.heals != 1 {
		t.Errorf("healed %d times", s.heals)
	}
}

// What links and processes cannot do is an ability that only Chaos Mesh has, or none, and has a name.
func TestChaosThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		"do what only Chaos Mesh can: NetworkChaos loss with device": {"NetworkChaos",
			gardenlets + ", action: loss, loss: {loss: '25'}, device: eth1"},
		"do what only Chaos Mesh can: NetworkChaos bandwidth with device, targetDevice": {"NetworkChaos", gardenlets +
			", action: bandwidth, bandwidth: {rate: 1mbps, limit: 1, buffer: 1}, device: eth1, targetDevice: eth2"},
		"do NetworkChaos of Chaos Mesh with device": {"NetworkChaos", partition + ", device: eth0"},
		"do NetworkChaos of Chaos Mesh with no delay": {"NetworkChaos",
			gardenlets + ", action: delay"},
		"do what only Chaos Mesh can: HTTPChaos abort with port 80, where links lead to 6443 only": {"HTTPChaos",
			gardenlets + ", port: 80, target: Request, abort: true"},
		"do HTTPChaos of Chaos Mesh with no action": {"HTTPChaos",
			gardenlets + ", port: 6443, target: Response"},
		"do PodChaos of Chaos Mesh with action pod-nap": {"PodChaos", gardenlets + ", action: pod-nap"},
		"do IOChaos of Chaos Mesh with action nap":      {"IOChaos", gardenlets + ", action: nap, volumePath: /data"},
		"do what only Chaos Mesh can: IOChaos latency":  {"IOChaos", gardenlets + ", action: latency, volumePath: /data"},
		"do what only Chaos Mesh can: StressChaos cpu":  {"StressChaos", gardenlets + ", stressors: {cpu: {workers: 1}}"},
		"do what only Chaos Mesh can: StressChaos memory": {"StressChaos",
			gardenlets + ", stressors: {memory: {workers: 1}}"},
		"do what only Chaos Mesh can: TimeChaos":          {"TimeChaos", gardenlets + ", timeOffset: -10m"},
		"do what only Chaos Mesh can: BlockChaos delay":   {"BlockChaos", gardenlets + ", action: delay, volumeName: v"},
		"do what only Chaos Mesh can: JVMChaos exception": {"JVMChaos", gardenlets + ", action: exception"},
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
		networkActions = "must be partition, delay, loss, duplicate, corrupt, bandwidth or netem"
		kinds          = "must be BlockChaos, HTTPChaos, IOChaos, JVMChaos, NetworkChaos, PodChaos, Schedule, StressChaos, " +
			"TimeChaos or Workflow"
		begun    = "must be BlockChaos, HTTPChaos, IOChaos, JVMChaos, NetworkChaos, PodChaos, StressChaos or TimeChaos"
		leaveOut = "no backend can do it in this experiment; leave it out"
		alone    = "duplicate: alone it harms nobody, because TCP drops what comes twice; add a rate, which it uses " +
			"up, such as rate: {rate: 1mbps}"
	)
	for want, c := range map[string][2]string{
		`fault.object.kind: Invalid value: "DNSChaos": no backend can do it: Chaos Mesh is installed without its DNS ` +
			`server; ` + kinds: {"DNSChaos", gardenlets + ", action: error"},
		`fault.object.spec.type: Invalid value: "DNSChaos": no backend can do it: Chaos Mesh is installed without its DNS ` +
			`server; ` + begun: {"Schedule", "schedule: '@daily', type: DNSChaos, dnsChaos: {" + gardenlets +
			", action: error}"},
		`fault.object.spec.type: Invalid value: "Workflow": ` + begun + `; give any other as a fault of its own`: {
			"Schedule", "schedule: '@daily', type: Workflow, workflow: {entry: a, templates: [{name: a, " +
				"templateType: Suspend, deadline: 1s}]}"},
		`fault.object.spec.templates[0].templateType: Invalid value: "Schedule": ` + begun +
			`; give any other as a fault of its own`: {"Workflow", "entry: a, templates: [{name: a, templateType: Schedule, " +
			"deadline: 1s, schedule: {schedule: '@daily', type: PodChaos, podChaos: {" + gardenlets + ", action: pod-kill}}}]"},
		`fault.object.spec.networkChaos.externalTargets: Forbidden: a series cannot have it, because Chaos Mesh would read ` +
			`it in another way; give its experiment as a fault of its own`: {"Schedule", "schedule: '@daily', type: " +
			"NetworkChaos, networkChaos: {" + partition + "}"},
		`fault.object.spec.templates[0].podChaos.remoteCluster: Forbidden: a series cannot have it, because Chaos Mesh ` +
			`would read it in another way; give its experiment as a fault of its own`: {"Workflow", "entry: a, templates: " +
			"[{name: a, templateType: PodChaos, deadline: 1s, podChaos: {" + gardenlets +
			", action: pod-kill, remoteCluster: a}}]"},
		`fault.object.spec: Invalid value: "Schedule": spec.schedule: Invalid value: "often": parse schedule field ` +
			`error:expected 5 to 6 fields, found 1: [often]`: {"Schedule", "schedule: often, type: PodChaos, podChaos: {" +
			gardenlets + ", action: pod-kill}"},
		`fault.object.spec.action: Invalid value: "nap": no backend can do it; must be latency, fault, attrOverride or ` +
			`mistake`: {"IOChaos", gardenlets + ", action: nap, volumePath: /data"},
		`fault.object.spec.target.mode: Unsupported value: "most": supported values: "one", "all", "fixed", ` +
			`"fixed-percent", "random-max-percent"`: {"NetworkChaos",
			gardenlets + ", action: partition, target: {mode: most, selector: {}}"},
		`fault.object.spec.remoteCluster: Unsupported value: "far": supported values: "garden", "a"`: {
			"PodChaos", gardenlets + ", action: pod-kill, remoteCluster: far"},
		`fault.object.spec: Invalid value: "loss": loss "130": must be a percentage from 0 to 100, such as "25"`: {
			"NetworkChaos", gardenlets + ", action: loss, loss: {loss: '130'}"},
		`fault.object.spec.action: Required value: ` +
			podActions: {"PodChaos", gardenlets},
		`fault.object.spec.action: Invalid value: "pod-nap": no backend can do it; ` +
			podActions: {"PodChaos", gardenlets + ", action: pod-nap"},
		`fault.object.spec.mode: Required value: must be one of one, all, fixed, fixed-percent, random-max-percent`: {
			"PodChaos", "selector: {}, action: pod-kill"},
		`fault.object.spec.action: Required value: ` +
			networkActions: {"NetworkChaos", gardenlets},
		`fault.object.spec.action: Invalid value: "nap": no backend can do it; ` +
			networkActions: {"NetworkChaos", gardenlets + ", action: nap, delay: {latency: 1s}"},
		`fault.object.spec.delay: Required value: action "delay" needs it`: {
			"NetworkChaos", gardenlets + ", action: delay"},
		`fault.object.spec.loss: Required value: action "loss" needs it`: {
			"NetworkChaos", gardenlets + ", action: loss"},
		`fault.object.spec.delay: Required value: action "netem" needs it, or a rate, loss, duplicate or ` +
			`corrupt`: {
			"NetworkChaos", gardenlets + ", action: netem"},
		`fault.object.spec.device: Forbidden: ` +
			leaveOut: {"NetworkChaos", partition + ", device: eth0"},
		`fault.object.spec: Invalid value: "patch": patch.headers ["a"]: must be a name and a value, such as ["a", "b"]`: {
			"HTTPChaos", gardenlets + ", port: 6443, target: Response, patch: {headers: [[a]]}"},
		`fault.object.spec: Invalid value: "patch": patch.body.type "XML": must be JSON`: {"HTTPChaos", gardenlets +
			", port: 6443, target: Response, patch: {body: {type: XML, value: '<'}}"},
		`fault.object.spec: Invalid value: "Rewrite()": nothing to replace or to patch is given`: {"HTTPChaos", gardenlets +
			", port: 6443, target: Response, replace: {headers: {}}"},
		`fault.object.spec: Invalid value: "loss": loss "0": it would happen to no packet; must be above 0, such as "25"`: {
			"NetworkChaos", gardenlets + ", action: loss, loss: {loss: '0'}"},
		`fault.object.spec: Invalid value: "duplicate": ` + alone: {
			"NetworkChaos", gardenlets + ", action: duplicate, duplicate: {duplicate: '40'}"},
		`fault.object.spec: Invalid value: "netem": ` + alone: {
			"NetworkChaos", gardenlets + ", action: netem, duplicate: {duplicate: '40'}"},
		`fault.object.spec: Invalid value: "netem": duplicate "0": it would happen to no packet; must be above 0, such as ` +
			`"25"`: {"NetworkChaos", gardenlets + ", action: netem, duplicate: {duplicate: '0'}"},
		`fault.object.spec: Invalid value: "no action": must have abort: true, a delay, replace or patch`: {
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

// What an experiment gives although nothing comes of it is refused at its field, whatever Chaos Mesh takes.
func TestCheck_FieldThatIsNotUsed_IsRefused(t *testing.T) {
	t.Parallel()
	const (
		netem = "; give it a fault of its own, with action netem"
		slow  = ", bandwidth: {rate: 1mbps, limit: 1, buffer: 1}"
		https = gardenlets + ", port: 6443, target: "
	)
	for want, c := range map[string][2]string{
		`delay: Forbidden: action "partition" does not use it` + netem: {"NetworkChaos",
			partition + ", delay: {latency: 1s}"},
		`loss: Forbidden: action "bandwidth" does not use it` + netem: {"NetworkChaos",
			gardenlets + slow + ", action: bandwidth, loss: {loss: '5'}"},
		`rate: Forbidden: action "bandwidth" does not use it` + netem: {"NetworkChaos",
			gardenlets + slow + ", action: bandwidth, rate: {rate: 1mbps}"},
		`bandwidth: Forbidden: action "delay" does not use it; give it a fault of its own, with action bandwidth`: {
			"NetworkChaos", gardenlets + slow + ", action: delay, delay: {latency: 1s}"},
		`partitionBehavior: Forbidden: action "loss" does not use it; leave it out, or take action partition`: {
			"NetworkChaos", gardenlets + ", action: loss, loss: {loss: '5'}, partitionBehavior: reject"},
		`containerNames: Forbidden: action "pod-kill" does not use it; leave it out, or take action container-kill`: {
			"PodChaos", gardenlets + ", action: pod-kill, containerNames: [gardenlet]"},
		`gracePeriod: Forbidden: action "pod-failure" does not use it; leave it out, or take action pod-kill`: {
			"PodChaos", gardenlets + ", action: pod-failure, gracePeriod: 5"},
		`delay: Forbidden: abort does not use it; give it a fault of its own`: {"HTTPChaos",
			https + "Request, abort: true, delay: 1s"},
		`code: Forbidden: target Request does not use it; leave it out, or take target Response`: {"HTTPChaos",
			https + "Request, abort: true, code: 404"},
		`replace.code: Forbidden: target Request does not use it; leave it out, or take target Response`: {"HTTPChaos",
			https + "Request, replace: {code: 500, path: /a}"},
		`patch.queries: Forbidden: target Response does not use it; leave it out, or take target Request`: {"HTTPChaos",
			https + "Response, patch: {queries: [[a, b]], headers: [[a, b]]}"},
	} {
		errs := experimentOf(t, c[0], c[1]).Check(at, ground)
		if len(errs) != 1 || errs[0].Error() != "fault.object.spec."+want {
			t.Errorf("%s: got\n%v\nwant\n%s", c, errs, want)
		}
	}
	// All blocks of netem are done, whichever of them the action names: so does Chaos Mesh.
	both := experimentOf(t, "NetworkChaos", gardenlets+", action: loss, loss: {loss: '5'}, delay: {latency: 1s}")
	if errs := both.Check(at, ground); len(errs) > 0 {
		t.Error(errs)
	}
}

// An experiment is the same before and after its check.
func TestCheck_ChangesNothing(t *testing.T) {
	t.Parallel()
	for kind, spec := range map[string]string{
		"PodChaos":     "selector: {}, mode: all, action: pod-kill",
		"NetworkChaos": "selector: {}, mode: all, action: delay, delay: {latency: 1s}",
		"StressChaos":  "selector: {}, mode: all, stressors: {cpu: {workers: 1}}",
	} {
		checked, fresh := experimentOf(t, kind, spec), experimentOf(t, kind, spec)
		if errs := checked.Check(at, ground); len(errs) > 0 {
			t.Fatal(errs)
		}
		if !reflect.DeepEqual(checked, fresh) {
			t.Errorf("after the check the %s is\n%+v\nbefore\n%+v", kind, checked, fresh)
		}
	}
}

// What only Chaos Mesh can do is fine by itself; a backend that cannot do it names the field that asks for it.
func TestChaosBeyondLinks(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]string{
		"spec.device": {"NetworkChaos", gardenlets + ", action: loss, loss: {loss: '25'}, device: eth1"},
		"":            {"NetworkChaos", partition},
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
		`kind: is "Pod"; must be BlockChaos, HTTPChaos, IOChaos, JVMChaos, NetworkChaos, PodChaos, Schedule, StressChaos, ` +
			`TimeChaos or Workflow`: {"Pod", ""},
		`spec.modus: unknown field; did you mean "mode"?`: {"PodChaos", "modus: one"},
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
