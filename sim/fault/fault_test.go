package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

var ground = landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}},
	Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}

// examples of every fault, by its name in files.
var examples = map[string]fault.Spec{
	"loseCluster":   {LoseCluster: &fault.LoseCluster{Cluster: fault.Cluster{Cluster: "a"}, Wipe: true}},
	"freezeCluster": {FreezeCluster: &fault.FreezeCluster{Cluster: fault.Cluster{Cluster: "garden"}}},
	"failRequest": {FailRequest: &fault.FailRequest{
		Requests: fault.Requests{Objects: shootsOf("gardenlet-a"), Verbs: []string{"patch"}, Turn: requests.Turn{Nth: 2}},
		Status:   503,
	}},
	"delayRequest": {DelayRequest: &fault.DelayRequest{Requests: fault.Requests{Objects: shootsOf("gardenlet-a")},
		Delay: metav1.Duration{Duration: time.Second}}},
	"dropAnswer": {DropAnswer: &fault.DropAnswer{Requests: fault.Requests{Objects: shootsOf("gardenlet-a"),
		Subresource: "status"}}},
	"holdRequest": {HoldRequest: &fault.HoldRequest{Requests: fault.Requests{Objects: shootsOf("gardenlet-a")},
		At: requests.After}},
	"requestLimit": {RequestLimit: &fault.RequestLimit{Objects: shootsOf("gardenlet-a"),
		Max: resource.MustParse("64Ki")}},
	"crash":       {Crash: &fault.Crash{Requests: fault.Requests{Objects: shootsOf("gardenlet-a")}, At: requests.After}},
	"staleList":   {StaleList: &fault.StaleList{Objects: shootsOf("gardenlet-a")}},
	"frozenWatch": {FrozenWatch: &fault.FrozenWatch{Objects: shootsOf("gardenlet-a")}},
	"closeWatch": {CloseWatch: &fault.CloseWatch{Watches: fault.Watches{Objects: shootsOf("gardenlet-a")},
		Life: metav1.Duration{Duration: time.Second}}},
	"goneWatch": {GoneWatch: &fault.GoneWatch{Watches: fault.Watches{Objects: shootsOf("gardenlet-a"),
		Turn: requests.Turn{Times: 1}}}},
	"bucketUnreachable": {BucketUnreachable: &fault.BucketUnreachable{Callers: fault.Callers{Actor: "control-planes-a"}}},
	"slowBucket": {SlowBucket: &fault.SlowBucket{Callers: fault.Callers{Shoot: "alpha"},
		BytesPerSecond: resource.MustParse("64Ki")}},
	"damageBackup": {DamageBackup: &fault.DamageBackup{Shoot: "alpha", Last: world.DeltaBackup}},
	"chaos":        {Chaos: partitioned()},
	"wipeEtcd":     {WipeEtcd: &fault.WipeEtcd{Shoot: "alpha"}},
	"growObject": {GrowObject: &fault.GrowObject{
		OneObject: configMap("grows"), Size: resource.MustParse("10Ki"),
	}},
	"loseObject": {LoseObject: &fault.LoseObject{OneObject: configMap("grows")}},
	"cloudError": {CloudError: &fault.CloudError{
		Calls: fault.Calls{Callers: fault.Callers{Actor: "extensions-a"}, Kinds: []string{"networks"},
			Verbs: []string{"create"}, Nth: 2}, Code: "ERR_INFRA_QUOTA_EXCEEDED",
	}},
	"cloudQuota":    {CloudQuota: &fault.CloudQuota{Kind: "machines", Max: 3}},
	"cloudThrottle": {CloudThrottle: &fault.CloudThrottle{PerSecond: 5}},
	"cloudUnreachable": {CloudUnreachable: &fault.CloudUnreachable{Calls: fault.Calls{Kinds: []string{"names",
		"records"}}}},
	"slowCloud": {SlowCloud: &fault.SlowCloud{Calls: fault.Calls{From: 2, Times: 3},
		Delay: metav1.Duration{Duration: time.Second}}},
	"cut": {Cut: &fault.Cut{Link: fault.Link{Actor: "gardenlet-a", Target: "garden"}}},
	"latency": {Latency: &fault.Latency{Link: fault.Link{Actor: "user", Target: "shoot/alpha"},
		Delay: metav1.Duration{Duration: time.Second}}},
	"bandwidth": {Bandwidth: &fault.Bandwidth{Link: fault.Link{Actor: "user", Target: "shoots"},
		BytesPerSecond: resource.MustParse("1Ki")}},
	"reset":  {Reset: &fault.Reset{Actor: "nodes", Target: "cloud"}},
	"kill":   {Kill: &fault.Kill{Process: fault.Process{Actor: "gardenlet-a"}}},
	"freeze": {Freeze: &fault.Freeze{Process: fault.Process{Shoot: "alpha", Program: "guard"}}},
}

func partitioned() *fault.Chaos {
	c, err := parseChaos("NetworkChaos", partition)
	if err != nil {
		panic(err)
	}
	return c
}

func configMap(name string) fault.OneObject {
	return fault.OneObject{Cluster: fault.Cluster{Cluster: "a"}, APIVersion: "v1", Kind: "ConfigMap", Namespace: "default",
		Object: name}
}

// plant makes the object that grows, and a pod for experiments.
func plant(t *testing.T, w world.World) {
	t.Helper()
	config, err := w.Connect("a")
	must(t, err)
	c, err := kubernetes.NewForConfig(config)
	must(t, err)
	_, err = c.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "grows"}}, metav1.CreateOptions{})
	must(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "g", Labels: map[string]string{"app": "gardenlet"}}}
	_, err = c.CoreV1().Pods("garden").Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
}

func shootsOf(actor string) fault.Objects {
	return fault.Objects{Actor: actor, Target: "garden", Kind: "Shoot", Object: "alpha"}
}

// spy is a world that notes what it is asked to break.
type spy struct {
	*worldtest.World
	asked []any
	heals int
	fail  error
	// midway comes together with every injection: what has begun did not get to its end.
	midway error
	// deaf clusters go on when they are lost or frozen.
	deaf bool
	// onHeal is called at every heal, onBreak when something is about to break, when they are set.
	onHeal, onBreak func()
}

func (s *spy) injection(what ...any) (world.Injection, error) {
	s.asked = what
	if s.onBreak != nil {
		s.onBreak()
	}
	return world.Injection{
		Heal: func(ctx context.Context) error {
			s.heals++
			if s.onHeal != nil {
				s.onHeal()
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.fail
		},
		Hits: func() int { return 3 },
	}, s.midway
}

func (s *spy) BreakLink(_ context.Context, actor, target string, f link.Fault, _ requests.Hook) (world.Injection,
	error) {
	return s.injection(actor, target, f)
}

func (s *spy) BreakProcess(_ context.Context, p world.Process, h world.Harm) (world.Injection, error) {
	return s.injection(p, h)
}

func (s *spy) LoseCluster(ctx context.Context, cluster string, wipe bool) (world.Injection, error) {
	return s.silence(ctx, cluster, cluster, wipe)
}

func (s *spy) FreezeCluster(ctx context.Context, cluster string) (world.Injection, error) {
	return s.silence(ctx, cluster, cluster)
}

// silence a cluster, unless it is deaf to that.
func (s *spy) silence(ctx context.Context, cluster string, what ...any) (world.Injection, error) {
	if s.deaf {
		return s.injection(what...)
	}
	if _, err := s.World.LoseCluster(ctx, cluster, false); err != nil {
		return world.Injection{}, err
	}
	return s.injection(what...)
}

func (s *spy) BreakCloud(_ context.Context, f cloud.Fault) (world.Injection, error) {
	return s.injection(f)
}

func (s *spy) DamageBackup(_ context.Context, shoot string, last world.Backup, missing bool) (world.Injection, error) {
	return s.injection(shoot, last, missing)
}

func (s *spy) KillFor(_ context.Context, p world.Process, delay time.Duration) (world.Injection, error) {
	return s.injection(p, delay)
}

func (s *spy) WipeEtcd(_ context.Context, shoot string) (world.Injection, error) {
	return s.injection(shoot)
}

func TestCheck_ExampleOfEveryFault_IsFine(t *testing.T) {
	t.Parallel()
	for _, kind := range fault.Kinds() {
		spec, known := examples[kind]
		if !known {
			t.Errorf("no example of %s", kind)
			continue
		}
		name, f := spec.Fault()
		if name != kind || f == nil {
			t.Errorf("the example of %s is a %s", kind, name)
		}
		if errs := spec.Check(field.NewPath("fault"), ground); len(errs) > 0 {
			t.Errorf("%s: %v", kind, errs)
		}
		if !strings.HasPrefix(f.Name(), kind+"(") {
			t.Errorf("%s is called %q", kind, f.Name())
		}
		if f.Traits().Ability == "" {
			t.Errorf("%s says of no ability that it needs it", kind)
		}
	}
}

// A fault is injected, hits, is healed once whatever happens, and recorded.
func TestConformance_EveryFault(t *testing.T) {
	t.Parallel()
	for kind, spec := range examples {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			_, f := spec.Fault()
			w := &spy{World: worldtest.New(t, "a")}
			plant(t, w)
			journal := timeline.NewJournal(clock.RealClock{}, nil)
			active := fault.NewActive(w, journal)
			if err := active.Heal(t.Context(), "it"); err == nil || !strings.Contains(err.Error(), "has not been injected") {
				t.Errorf("heal before the fault: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if err := active.Inject(ctx, "it", f); err != nil {
				t.Fatal(err)
			}
			if err := active.Inject(ctx, "it", f); err == nil {
				t.Error("injected twice under one name")
			}
			cancel() // a heal runs even if the run was cancelled
			if err := errors.Join(active.Heal(ctx, "it"), active.Heal(ctx, "it"), active.HealAll(ctx)); err != nil {
				t.Error(err)
			}
			hits := 3
			switch kind {
			case "crash": // which counts deaths, and nobody has died
				hits = 0
			case "growObject", "loseObject": // which the spy does not see
				hits, w.heals = 1, w.heals+1
			}
			if w.heals != 1 {
				t.Errorf("healed %d times", w.heals)
			}
			_, injected, _ := timeline.First[timeline.FaultInjected](journal.Events())
			_, healed, _ := timeline.First[timeline.FaultHealed](journal.Events())
			if injected.Fault != f.Name() || healed.Hits != hits || healed.Error != "" {
				t.Errorf("recorded %+v, %+v", injected, healed)
			}
			takes := map[string][]string{"loseCluster": {"a"}, "freezeCluster": {"garden"}}
			if diff := cmp.Diff(takes[kind], injected.Clusters); diff != "" {
				t.Errorf("clusters that it takes away (-want +got):\n%s", diff)
			}
		})
	}
}

// A fault is healed once by the end of the run, also if the run has failed before its heal step, or was cancelled while
// the fault was being injected.
func TestConformance_NoStepHeals_IsHealedOnce(t *testing.T) {
	t.Parallel()
	for kind, spec := range examples {
		for how, interrupted := range map[string]bool{"the run fails": false, "cancelled midway": true} {
			t.Run(kind+", "+how, func(t *testing.T) {
				t.Parallel()
				_, f := spec.Fault()
				w := &spy{World: worldtest.New(t, "a")}
				plant(t, w)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if interrupted {
					w.onBreak = cancel
				}
				journal := timeline.NewJournal(clock.RealClock{}, nil)
				active := fault.NewActive(w, journal)
				if err := active.Inject(ctx, "it", f); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				cancel()
				if err := errors.Join(active.HealAll(ctx), active.HealAll(ctx)); err != nil {
					t.Error(err)
				}
				if kind == "growObject" || kind == "loseObject" { // which the spy does not see
					w.heals++
				}
				if w.heals != 1 {
					t.Errorf("healed %d times", w.heals)
				}
				if _, healed, found := timeline.First[timeline.FaultHealed](journal.Events()); !found || healed.Error != "" {
					t.Errorf("recorded %+v", healed)
				}
			})
		}
	}
}

// What has begun, and then failed, is healed at once and recorded: it could not be healed by name later.
func TestConformance_InjectionFailsMidway_IsHealedAtOnce(t *testing.T) {
	t.Parallel()
	midway := errors.New("it does not stop")
	for kind, spec := range examples {
		if kind == "growObject" || kind == "loseObject" { // which break nothing of the spy's
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			_, f := spec.Fault()
			w := &spy{World: worldtest.New(t, "a"), midway: midway}
			plant(t, w)
			ctx, cancel := context.WithCancel(t.Context())
			w.onBreak = cancel
			journal := timeline.NewJournal(clock.RealClock{}, nil)
			active := fault.NewActive(w, journal)
			if err := active.Inject(ctx, "it", f); !errors.Is(err, midway) || errors.Is(err, context.Canceled) {
				t.Errorf("injected: %v", err)
			}
			if w.heals != 1 {
				t.Errorf("healed %d times", w.heals)
			}
			if err := active.HealAll(ctx); err != nil || w.heals != 1 {
				t.Errorf("in the end healed %d times: %v", w.heals, err)
			}
			_, healed, found := timeline.First[timeline.FaultHealed](journal.Events())
			if !found || !strings.Contains(healed.Error, midway.Error()) {
				t.Errorf("recorded %+v", healed)
			}
		})
	}
}

// Neither error hides the other where an injection fails and cannot be healed either.
func TestInject_FailsAndCannotBeHealed_ReturnsBothErrors(t *testing.T) {
	t.Parallel()
	midway, stuck := errors.New("it does not stop"), errors.New("stuck")
	w := &spy{World: worldtest.New(t, "a"), midway: midway, fail: stuck}
	journal := timeline.NewJournal(clock.RealClock{}, nil)
	spec := examples["freezeCluster"]
	_, f := spec.Fault()
	if err := fault.NewActive(w, journal).Inject(t.Context(), "it", f); !errors.Is(err, midway) || !errors.Is(err, stuck) {
		t.Errorf("injected: %v", err)
	}
	if _, healed, _ := timeline.First[timeline.FaultHealed](journal.Events()); !strings.Contains(healed.Error, "stuck") ||
		healed.Hits != 3 {
		t.Errorf("recorded %+v", healed)
	}
}

func TestHealAll_HealFails_IsRecordedAndNotRepeated(t *testing.T) {
	t.Parallel()
	w := &spy{World: worldtest.New(t, "a"), fail: errors.New("stuck")}
	journal := timeline.NewJournal(clock.RealClock{}, nil)
	active := fault.NewActive(w, journal)
	for _, name := range []string{"one", "two"} {
		spec := examples["cut"]
		_, f := spec.Fault()
		if err := active.Inject(t.Context(), name, f); err != nil {
			t.Fatal(err)
		}
	}
	err := active.HealAll(t.Context())
	if err == nil || !strings.Contains(err.Error(), `heal the fault "one", cut(gardenlet-a,garden): stuck`) ||
		w.heals != 2 {
		t.Errorf("error %v, %d heals", err, w.heals)
	}
	var order []string
	for e := range timeline.Of[timeline.FaultHealed](journal.Events()) {
		order = append(order, e.Subject)
	}
	if !reflect.DeepEqual(order, []string{"two", "one"}) {
		t.Errorf("healed in the order %v", order)
	}
}

// limited is a world that can break nothing.
type limited struct{ world.World }

func (limited) Able(ability world.Ability) error {
	return fmt.Errorf("this backend cannot %s", ability)
}

func TestInject_WorldWithoutTheAbility_Fails(t *testing.T) {
	t.Parallel()
	for kind, spec := range examples {
		_, f := spec.Fault()
		active := fault.NewActive(limited{worldtest.New(t, "a")}, timeline.NewJournal(clock.RealClock{}, nil))
		err := active.Inject(t.Context(), "it", f)
		if err == nil || !strings.Contains(err.Error(), "this backend cannot "+string(f.Traits().Ability)) {
			t.Errorf("%s: %v", kind, err)
		}
		if err := active.HealAll(t.Context()); err != nil {
			t.Errorf("%s: what was not injected is healed: %v", kind, err)
		}
	}
}

func TestFaultsReachTheRightPlace(t *testing.T) {
	t.Parallel()
	alpha := kubeapi.Match{Resource: "shoots", Name: "alpha"}
	for kind, want := range map[string][]any{
		"cut":     {"gardenlet-a", "garden", wire.Cut{}},
		"latency": {"user", "shoot/alpha", wire.Latency{Delay: time.Second}},
		"failRequest": {"gardenlet-a", "garden", requests.Fail{
			Match: kubeapi.Match{Verbs: []string{"patch"}, Resource: "shoots", Name: "alpha"}, Turn: requests.Turn{Nth: 2},
			Status: 503,
		}},
		"delayRequest": {"gardenlet-a", "garden",
			requests.Delay{Match: alpha, Delay: metav1.Duration{Duration: time.Second}}},
		"dropAnswer": {"gardenlet-a", "garden",
			requests.DropAnswer{Match: kubeapi.Match{Resource: "shoots", Name: "alpha", Subresource: "status"}}},
		"holdRequest":  {"gardenlet-a", "garden", requests.Hold{Match: alpha, At: requests.After}},
		"requestLimit": {"gardenlet-a", "garden", requests.SizeLimit{Match: alpha, Bytes: 64 << 10}},
		"crash": {"gardenlet-a", "garden",
			requests.Crash{Match: alpha, Turn: requests.Turn{Nth: 1}, At: requests.After}},
		"staleList":   {"gardenlet-a", "garden", watches.StaleList{Match: alpha}},
		"frozenWatch": {"gardenlet-a", "garden", watches.Frozen{Match: alpha}},
		"closeWatch": {"gardenlet-a", "garden",
			watches.Closed{Match: alpha, Life: metav1.Duration{Duration: time.Second}}},
		"goneWatch": {"gardenlet-a", "garden", watches.Gone{Match: alpha, Turn: requests.Turn{Times: 1}}},
		"freeze":    {world.Process{Shoot: "alpha", Program: "guard"}, world.Freeze},
		"kill":      {world.Process{Actor: "gardenlet-a"}, world.Kill},
		"bucketUnreachable": {cloud.Fault{
			Match:  cloud.Match{Kinds: []string{"buckets", "objects"}, Identities: []string{"control-planes-a"}},
			Effect: cloud.Effect{Drop: "request"},
		}},
		"slowBucket": {cloud.Fault{
			Match:  cloud.Match{Kinds: []string{"buckets", "objects"}, Shoots: []string{"alpha"}},
			Effect: cloud.Effect{BytesPerSecond: 65536},
		}},
		"damageBackup": {"alpha", world.DeltaBackup, false},
		"wipeEtcd":     {"alpha"},
		"chaos":        {"gardenlet-a", "garden", wire.Cut{Direction: wire.ToServer}},
		"cloudError": {cloud.Fault{
			Match: cloud.Match{Kinds: []string{"networks"}, Verbs: []string{"create"}, Identities: []string{"extensions-a"}},
			Nth:   2, Effect: cloud.Effect{Error: &cloud.ErrorEffect{Code: "QuotaExceeded"}},
		}},
		"cloudQuota": {cloud.Fault{Match: cloud.Match{Kinds: []string{"machines"}},
			Effect: cloud.Effect{Quota: ptr.To(3)}}},
		"cloudThrottle": {cloud.Fault{Effect: cloud.Effect{Throttle: &cloud.ThrottleEffect{PerSecond: 5, Burst: 5}}}},
		"cloudUnreachable": {cloud.Fault{Match: cloud.Match{Kinds: []string{"names", "records"}},
			Effect: cloud.Effect{Drop: "request"}}},
		"slowCloud": {cloud.Fault{From: 2, Times: 3,
			Effect: cloud.Effect{Delay: &metav1.Duration{Duration: time.Second}}}},
		"loseCluster":   {"a", true},
		"freezeCluster": {"garden"},
	} {
		w := &spy{World: worldtest.New(t, "a")}
		plant(t, w)
		spec := examples[kind]
		_, f := spec.Fault()
		if _, err := f.Inject(t.Context(), w); err != nil || !reflect.DeepEqual(w.asked, want) {
			t.Errorf("%s: asked for %v, %v", kind, w.asked, err)
		}
	}
}

// A cluster that goes on is not lost, whatever the backend says.
func TestClusterFault_ClusterThatAnswers_IsNoFault(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"loseCluster", "freezeCluster"} {
		w := &spy{World: worldtest.New(t, "a"), deaf: true}
		journal := timeline.NewJournal(clock.RealClock{}, nil)
		spec := examples[kind]
		_, f := spec.Fault()
		err := fault.NewActive(w, journal).Inject(t.Context(), "it", f)
		if err == nil || !strings.Contains(err.Error(), "still answers") || w.heals != 1 {
			t.Errorf("%s: %v, healed %d times", kind, err, w.heals)
		}
	}
}

func TestKillWithDelay(t *testing.T) {
	t.Parallel()
	w := &spy{World: worldtest.New(t, "a")}
	kill := &fault.Kill{Process: fault.Process{Actor: "gardenlet-a"}, RestartDelay: metav1.Duration{Duration: time.Second}}
	if _, err := kill.Inject(t.Context(), w); err != nil || !reflect.DeepEqual(w.asked,
		[]any{world.Process{Actor: "gardenlet-a"}, time.Second}) {
		t.Errorf("asked for %v, %v", w.asked, err)
	}
	if kill.Traits().Ability != world.DelayRestarts {
		t.Errorf("it needs to %s", kill.Traits().Ability)
	}
	active := fault.NewActive(limited{w}, timeline.NewJournal(clock.RealClock{}, nil))
	if err := active.Inject(t.Context(), "it", kill); err == nil || !strings.Contains(err.Error(),
		"kill(gardenlet-a): this backend cannot delay restarts") {
		t.Errorf("got %v", err)
	}
}

// starting is a world whose processes are about to run, or will not.
type starting struct {
	*spy
	await func() error
}

func (s starting) AwaitProcess(context.Context, world.Process) error { return s.await() }

// What is waited for before a fault begins is no time of the fault.
func TestAFaultBeginsWhenItsProcessRuns(t *testing.T) {
	t.Parallel()
	for name, never := range map[string]error{"runs": nil, "never": errors.New("it crashes")} {
		for kind, f := range map[string]fault.Fault{
			"kill":   &fault.Kill{Process: fault.Process{Actor: "gardenlet-a"}},
			"freeze": &fault.Freeze{Process: fault.Process{Actor: "gardenlet-a"}},
			"delayed": &fault.Kill{Process: fault.Process{Actor: "gardenlet-a"},
				RestartDelay: metav1.Duration{Duration: time.Second}},
		} {
			journal := timeline.NewJournal(clock.RealClock{}, nil)
			before := -1
			w := starting{&spy{World: worldtest.New(t, "a")}, func() error { before = len(journal.Events()); return never }}
			err := fault.NewActive(w, journal).Inject(t.Context(), "one", f)
			begun := 0
			for range timeline.Of[timeline.FaultInjected](journal.Events()) {
				begun++
			}
			if before != 0 || (never == nil) != (begun == 1) || !errors.Is(err, never) {
				t.Errorf("%s, %s: %d events before it was there, begun %d times, %v", kind, name, before, begun, err)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"kill":{"actor":"gardenlet-z"}}`,
			`fault.kill.actor: Unsupported value: "gardenlet-z"`},
		{`{"kill":{"actor":"user"}}`,
			`fault.kill.actor: Unsupported value: "user"`},
		{`{"kill":{"cluster":"a"}}`,
			`fault.kill.program: Unsupported value: ""`},
		{`{"kill":{"shoot":"omega","program":"etcd"}}`,
			`fault.kill.shoot: Unsupported value: "omega"`},
		{`{"freeze":{"cluster":"a","shoot":"alpha","program":"etcd"}}`,
			`must name an actor, or a cluster and a program, or a shoot and a program`},
		{`{"freeze":{}}`,
			`must name an actor`},
		{`{"latency":{"actor":"user","target":"shoots","delay":"0s"}}`,
			`must be positive`},
		{`{"bandwidth":{"actor":"user","target":"shoots","bytesPerSecond":"0"}}`,
			`must be at least 1`},
		{`{"cut":{"actor":"observer","target":"a"}}`,
			`fault.cut.actor: Unsupported value: "observer"`},
		{`{"reset":{"actor":"user","target":"shoot/omega"}}`,
			`fault.reset.target: Unsupported value: "shoot/omega"`},
		{`{"failRequest":{"actor":"user","target":"cloud","status":503}}`,
			`fault.failRequest.target: Unsupported value: "cloud": supported values: "shoot/alpha", "shoots"`},
		{`{"cut":{"actor":"gateway-a","target":"garden"}}`,
			`fault.cut.target: Unsupported value: "garden": supported values: "a"`},
		{`{"failRequest":{"actor":"user","target":"shoots","status":200}}`,
			`status 200: must be from 400 to 599`},
		{`{"failRequest":{"actor":"user","target":"shoots","status":500,"verbs":["read"]}}`,
			`fault.failRequest.verbs[0]: Unsupported value: "read": supported values: ` +
				`"get", "list", "watch", "create", "update", "patch", "apply", "delete", "deletecollection"`},
		{`{"failRequest":{"actor":"user","target":"shoots","status":500,"kind":"pods"}}`,
			`fault.failRequest.kind: Invalid value: "pods": must be a kind, such as Shoot`},
		{`{"failRequest":{"actor":"me","target":"shoots","status":500}}`,
			`fault.failRequest.actor: Unsupported value: "me"`},
		{`{"delayRequest":{"actor":"user","target":"shoots","delay":"0s"}}`,
			`delay 0s: must be positive`},
		{`{"holdRequest":{"actor":"user","target":"shoots","at":"Noon"}}`,
			`unknown moment "Noon": must be "Before" or "After"`},
		{`{"dropAnswer":{"actor":"user","target":"shoots","nth":1,"from":2}}`,
			`nth 1: stands alone, without from, every and times`},
		{`{"dropAnswer":{"actor":"user","target":"shoots","verbs":["get","watch"]}}`,
			`verb "watch": has no answer that could be lost`},
		{`{"requestLimit":{"actor":"user","target":"shoots","max":"4Mi"}}`,
			`limit of 4194304 bytes: must be from 1 to 3145728`},
		{`{"closeWatch":{"actor":"user","target":"shoots","every":-1}}`,
			`must not be negative`},
		{`{"crash":{"actor":"nodes","target":"shoots"}}`,
			`fault.crash.victim: Required value: "nodes" is many processes: name the one that dies`},
		{`{"crash":{"actor":"gardenlet-a","target":"garden","verbs":["get"]}}`,
			`fault.crash.verbs[0]: Invalid value: "get": does not write`},
		{`{"crash":{"actor":"nodes","target":"shoots","victim":{"shoot":"alpha","program":"kwok"}}}`,
			`fault.crash.victim.program: Unsupported value: "kwok"`},
		{`{"cloudError":{"code":"ERR_PROBLEMATIC_WEBHOOK"}}`,
			`fault.cloudError.code: Unsupported value: "ERR_PROBLEMATIC_WEBHOOK": supported values: "Invalid"`},
		{`{"cloudError":{"code":"Invalid","kinds":["castles"]}}`,
			`fault.cloudError.kinds[0]: Unsupported value: "castles"`},
		{`{"cloudError":{"code":"Invalid","verbs":["watch"]}}`,
			`fault.cloudError.verbs[0]: Unsupported value: "watch"`},
		{`{"cloudError":{"code":"Invalid","actor":"gateway-a"}}`,
			`fault.cloudError.actor: Unsupported value: "gateway-a": supported values: "control-planes-a"`},
		{`{"cloudError":{"code":"Invalid","nth":1,"times":2}}`,
			`must have nth alone, or from and times`},
		{`{"cloudQuota":{"kind":"machines","max":-1}}`,
			`fault.cloudQuota.max: Invalid value: -1: must not be negative`},
		{`{"cloudThrottle":{"perSecond":-1}}`,
			`rate and burst must not be negative`},
		{`{"slowCloud":{"delay":"0s"}}`,
			`fault.slowCloud.delay: Invalid value: "0s": must be positive`},
		{`{"slowBucket":{"bytesPerSecond":"0"}}`,
			`fault.slowBucket.bytesPerSecond: Invalid value: "0": must be at least 1`},
		{`{"bucketUnreachable":{"shoot":"omega"}}`,
			`fault.bucketUnreachable.shoot: Unsupported value: "omega"`},
		{`{"wipeEtcd":{"shoot":"omega"}}`,
			`fault.wipeEtcd.shoot: Unsupported value: "omega"`},
		{`{"kill":{"actor":"gardenlet-a","restartDelay":"-1s"}}`,
			`fault.kill.restartDelay: Invalid value: "-1s": must not be negative`},
		{`{"kill":{"cluster":"a","program":"etcd","restartDelay":"1s"}}`,
			`a program of a cluster stays dead until it is healed`},
		{`{"growObject":{"cluster":"a","apiVersion":"v1","kind":"Secret","name":"s","size":"2Mi"}}`,
			`fault.growObject.size: Invalid value: "2Mi": must be from 1 to 1500Ki`},
		{`{"growObject":{"cluster":"a","apiVersion":"a/b/c","kind":"Secret","name":"s","size":"1"}}`,
			`fault.growObject.apiVersion: Invalid value: "a/b/c": must be a group and a version`},
		{`{"growObject":{"cluster":"a","apiVersion":"v1","kind":"secrets","name":"s","size":"1"}}`,
			`fault.growObject.kind: Invalid value: "secrets": must be a kind`},
		{`{"growObject":{"cluster":"a","apiVersion":"v1","kind":"Secret","name":"","size":"1"}}`,
			`fault.growObject.name: Required value`},
		{`{"growObject":{"cluster":"z","apiVersion":"v1","kind":"Secret","name":"s","size":"1"}}`,
			`fault.growObject.cluster: Unsupported value: "z"`},
		{`{"damageBackup":{"shoot":"omega"}}`,
			`fault.damageBackup.shoot: Unsupported value: "omega"`},
		{`{"damageBackup":{"shoot":"alpha","last":"Word"}}`,
			`fault.damageBackup.last: Unsupported value: "Word": supported values: "Any", "Full", "Delta"`},
		{`{"loseCluster":{"cluster":"z"}}`,
			`fault.loseCluster.cluster: Unsupported value: "z": supported values: "garden", "a"`},
		{`{"loseCluster":{"cluster":"garden","wipe":true}}`,
			`fault.loseCluster.wipe: Invalid value: true: nothing can bring a wiped garden back`},
		{`{"freezeCluster":{"cluster":"b"}}`,
			`fault.freezeCluster.cluster: Unsupported value: "b"`},
		{`{}`,
			`exactly one fault must be given: loseCluster, freezeCluster, cut`},
	} {
		var spec fault.Spec
		if err := json.Unmarshal([]byte(c.text), &spec); err != nil {
			t.Fatal(err)
		}
		errs := spec.Check(field.NewPath("fault"), ground)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, errs, c.want)
		}
	}
}
