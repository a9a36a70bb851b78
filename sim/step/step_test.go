package step_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// fakeShoots is a step.Shoots that notes what it is asked for.
type fakeShoots struct{ calls []string }

func (f *fakeShoots) SetUp(_ context.Context, shoot string) error {
	f.calls = append(f.calls, "set up "+shoot)
	return nil
}

func (f *fakeShoots) Load(_ context.Context, l step.Load) error {
	f.calls = append(f.calls, "load "+l.Shoot)
	return nil
}

func (f *fakeShoots) Dismiss(shoot string) { f.calls = append(f.calls, "dismiss "+shoot) }

// newEnvironment is on a small world in which the shoot alpha lives on seed a.
func newEnvironment(t *testing.T) (*step.Environment, *fakeShoots, client.Client) {
	t.Helper()
	w := worldtest.New(t, "a", "b")
	clients, garden, _ := worldtest.SetUp(t, w, 0)
	record := timeline.NewJournal(clock.RealClock{}, nil)
	c := &fakeShoots{}
	env := &step.Environment{World: w, Clients: clients, Record: record, Clock: clock.RealClock{},
		Faults: fault.NewActive(w, record), Shoots: c}
	if err := env.Await(t.Context(), "shoot('alpha').healthy", time.Minute); err != nil {
		t.Fatal(err)
	}
	return env, c, garden
}

func TestSteps(t *testing.T) {
	t.Parallel()
	env, c, garden := newEnvironment(t)
	heal := step.Heal("cut")
	cut := &step.Inject{Spec: fault.Spec{Name: "cut", Reset: &fault.Reset{Actor: "user", Target: "shoots"}}}
	long := metav1.Duration{Duration: time.Minute}
	for _, one := range []step.Step{
		&step.Load{Shoot: "alpha"},
		&step.Migrate{Shoot: "alpha", To: "b"},
		&step.Expect{That: "shoot('alpha').seed == 'b' && shoot('alpha').healthy && seed('a').shoots == 0 && " +
			"seed('b').bound == 1", Within: long},
		&step.Hibernate{Shoot: "alpha"},
		&step.Wait{Until: "shoot('alpha').hibernated", Within: long},
		&step.Wake{Shoot: "alpha"},
		&step.Wait{Until: "!shoot('alpha').hibernated && shoot('alpha').lastOperation.state == 'Succeeded'", Within: long},
		&step.Wait{For: metav1.Duration{Duration: time.Millisecond}, Because: "it is tested"},
		cut, &heal,
		&step.Create{Shoot: "beta", Within: long},
		&step.Delete{Shoot: "alpha"},
		&step.Expect{That: "!shoot('alpha').exists && cloud.machines == 0", Within: long},
		&step.Delete{Shoot: "alpha"}, // gone already is no error
	} {
		if err := one.Run(t.Context(), env); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
	}
	if want := []string{"load alpha", "set up beta", "dismiss alpha", "dismiss alpha"}; !reflect.DeepEqual(c.calls, want) {
		t.Errorf("the shoots were asked for %v, want %v", c.calls, want)
	}
	err := garden.Get(t.Context(), env.World.ShootKey("alpha"), &gardencorev1beta1.Shoot{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("alpha: %v", err)
	}
}

func TestSteps_ThatCannotSucceed_Fail(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	short := metav1.Duration{Duration: time.Millisecond}
	heal := step.Heal("cut")
	for name, c := range map[string]struct {
		step step.Step
		is   error
		want string
	}{
		"an expectation": {&step.Expect{That: "shoot('alpha').seed == 'b'", Within: short}, step.Unmet{},
			`not met within 1ms: shoot('alpha').seed == 'b'; shoot("alpha").seed is "a"; alpha: Create Succeeded 100%`},
		"a precondition": {&step.Wait{Until: "shoot('alpha').seed == 'b'", Within: short}, nil,
			`shoot("alpha").seed is "a"`},
		"no such shoot": {&step.Migrate{Shoot: "omega", To: "b"}, nil, `patch the shoot "omega"`},
		"no such fault": {&heal, nil, `heal the fault "cut": it has not been injected`},
		"an unknown seed": {&step.Expect{That: "seed('z').shoots == 0", Within: short}, step.Unknown{},
			`not known within 1ms: seed('z').shoots == 0; seed("z").shoots cannot be read`},
		"a missing condition": {&step.Expect{That: "shoot('alpha').conditions['None'] == 'True'", Within: short},
			step.Unmet{}, "no such key: None"},
		"what is known": {&step.Expect{That: "seed('z').shoots == 0 && shoot('alpha').seed == 'b'", Within: short},
			step.Unmet{}, "not met within 1ms"},
		"a wait in the dark": {&step.Wait{Until: "seed('z').shoots == 0", Within: short}, nil,
			`seed("z").shoots cannot be read`},
		"what does not fit": {&step.Expect{That: "shoot('alpha').sed", Within: short}, nil, "undefined field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.step.Run(t.Context(), env)
			if err == nil || !strings.Contains(err.Error(), c.want) || fmt.Sprintf("%T", kindOf(err)) != fmt.Sprintf("%T",
				c.is) {
				t.Errorf("error %v, want %T, %q", err, c.is, c.want)
			}
		})
	}
}

// kindOf an error that is not merely one: what was not met, or could not be known.
func kindOf(err error) error {
	if unmet := (step.Unmet{}); errors.As(err, &unmet) {
		return unmet
	}
	if unknown := (step.Unknown{}); errors.As(err, &unknown) {
		return unknown
	}
	return nil
}

// The last look decides: a condition that was false when all could be seen may have become true since.
func TestExpect_LastLookIsBlind_IsUnknown(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	clock := testingclock.NewFakeClock(time.Now())
	env.Clock = clock
	expect, ended := &step.Expect{That: "seed('a').shoots == 2", Within: metav1.Duration{Duration: time.Minute}},
		make(chan error)
	go func() { ended <- expect.Run(t.Context(), env) }()
	for !clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	if _, err := env.World.(*worldtest.World).LoseCluster(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Minute)
	unknown := step.Unknown{}
	if err := <-ended; !errors.As(err, &unknown) || !strings.Contains(unknown.Why, `cannot be read`) ||
		!strings.HasSuffix(unknown.Why, `; 1m0s before it was not so: seed("a").shoots is 1`) {
		t.Errorf("error %v", err)
	}
}

// A verb or a fault that lacks a method would be read from files, and never be found.
func TestSpec_EveryPointer_IsAMember(t *testing.T) {
	t.Parallel()
	for form, members := range map[reflect.Type][]string{
		reflect.TypeFor[step.Spec](): step.Verbs(), reflect.TypeFor[fault.Spec](): fault.Kinds(),
	} {
		for _, f := range reflect.VisibleFields(form) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Pointer && !slices.Contains(members, name) {
				t.Errorf("%s.%s is none of %v", form, f.Name, members)
			}
		}
	}
}

func TestRefusedStep_IsAdmitted_IsUnmet(t *testing.T) {
	t.Parallel()
	env, c, _ := newEnvironment(t)
	for _, one := range []step.Step{&step.Migrate{Shoot: "alpha", To: "b", Refused: true},
		&step.Delete{Shoot: "alpha", Refused: true}} {
		err := one.Run(t.Context(), env)
		if !errors.As(err, &step.Unmet{}) || !strings.Contains(err.Error(), "which must be refused: it was admitted") {
			t.Errorf("%s: %v", one, err)
		}
	}
	if len(c.calls) > 0 { // a shoot that stays is watched on
		t.Errorf("the shoots were asked for %v", c.calls)
	}
}

// A refused step changes nothing of the state, and a move may be refused to a shoot that is being deleted.
func TestCheck_RefusedSteps_KeepTheState(t *testing.T) {
	t.Parallel()
	on := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}, {Name: "b"}},
		Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}
	steps := []step.Spec{
		{Delete: &step.Delete{Shoot: "alpha", Refused: true}},
		{Migrate: &step.Migrate{Shoot: "alpha", To: "b"}},
		{Delete: &step.Delete{Shoot: "alpha"}},
		{Migrate: &step.Migrate{Shoot: "alpha", To: "a", Refused: true}},
	}
	state := step.NewState(on, steps)
	for i := range steps {
		if errs := steps[i].Check(field.NewPath("steps").Index(i), state); len(errs) > 0 {
			t.Error(errs)
		}
	}
	wrong := step.Migrate{Shoot: "omega", To: "a", Refused: true}
	if errs := wrong.Check(field.NewPath("migrate"), state); len(errs) != 1 || errs[0].Field != "migrate.shoot" {
		t.Errorf("a shoot that nobody knows: %v", errs)
	}
}

// refusing is a world whose garden refuses the first changes.
type refusing struct {
	world.World
	left atomic.Int32
}

func (r *refusing) Connect(cluster string) (*rest.Config, error) {
	config, err := r.World.Connect(cluster)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodPatch || r.left.Add(-1) < 0 {
				return next.RoundTrip(request)
			}
			content, err := json.Marshal(apierrors.NewForbidden(schema.GroupResource{Resource: "shoots"}, "alpha",
				errors.New("it is being moved")).Status())
			return &http.Response{
				StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(bytes.NewReader(content)), Request: request,
			}, err
		})
	})
	return config, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestMigrate_RefusedForATime_IsAskedForAgain(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	garden := &refusing{World: env.World}
	clients, err := world.NewClients(garden)
	if err != nil {
		t.Fatal(err)
	}
	env.Clients = clients
	for _, c := range []struct {
		refused int32
		within  time.Duration
		ok      bool
	}{{1, 0, false}, {2, time.Minute, true}, {1000, time.Millisecond, false}} {
		garden.left.Store(c.refused)
		err := (&step.Migrate{Shoot: "alpha", To: "b", Within: metav1.Duration{Duration: c.within}}).Run(t.Context(), env)
		if c.ok && err != nil || !c.ok && !apierrors.IsForbidden(err) {
			t.Errorf("refused %d times, within %s: %v", c.refused, c.within, err)
		}
	}
}

func TestMigrate_WithinThatCannotBe_IsRefused(t *testing.T) {
	t.Parallel()
	on := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}, {Name: "b"}},
		Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}
	for _, m := range []step.Migrate{
		{Shoot: "alpha", To: "b", Within: metav1.Duration{Duration: -time.Second}},
		{Shoot: "alpha", To: "b", Refused: true, Within: metav1.Duration{Duration: time.Second}},
	} {
		if errs := m.Check(field.NewPath("migrate"), step.NewState(on, nil)); len(errs) != 1 ||
			errs[0].Field != "migrate.within" {
			t.Errorf("%+v: %v", m, errs)
		}
	}
}

func TestWaitAndExpect_Interrupted_SaySo(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("somebody pressed a key"))
	for _, one := range []step.Step{
		&step.Expect{That: "shoot('alpha').seed == 'b'", Within: metav1.Duration{Duration: time.Hour}},
		&step.Expect{That: "shoot('alpha').answerTimes == []", Samples: 3, Within: metav1.Duration{Duration: time.Hour}},
		&step.Wait{For: metav1.Duration{Duration: time.Hour}, Because: "it is interrupted"},
	} {
		if err := one.Run(ctx, env); err == nil || !strings.Contains(err.Error(), "somebody pressed a key") ||
			errors.As(err, &step.Unmet{}) {
			t.Errorf("%s: %v", one, err)
		}
	}
}

func TestStep_EveryVerb_IsFoundByItsName(t *testing.T) {
	t.Parallel()
	for _, verb := range step.Verbs() {
		spec := &step.Spec{}
		value := reflect.ValueOf(spec).Elem()
		for i := range value.NumField() {
			if name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ","); name == verb {
				value.Field(i).Set(reflect.New(value.Field(i).Type().Elem()))
			}
		}
		name, one := spec.Step()
		if name != verb || one == nil {
			t.Errorf("%s is found as %q", verb, name)
			continue
		}
		if one.String() == "" {
			t.Errorf("%s has no description", verb)
		}
	}
	if _, one := (&step.Spec{}).Step(); one != nil {
		t.Error("no step is a step")
	}
}

// A fault waits in the background until its condition is true, or its name is healed. The condition may reach a shoot,
// and what takes requests of its own, through a variable.
func TestInject_When_WaitsInTheBackground(t *testing.T) {
	t.Parallel()
	env, _, _ := newEnvironment(t)
	for name, that := range map[string]string{"later": "shoot('alpha').specSeed == 'b'",
		"listed": "[shoot('alpha')].all(s, s.specSeed == 'b' && s.warnings == [])",
		"never":  "shoot('alpha').seed == 'c'"} {
		inject := &step.Inject{When: &step.When{That: that}}
		inject.Name, inject.Cut = name, &fault.Cut{Link: fault.Link{Actor: "gardenlet-a", Target: "garden"}}
		if err := inject.Run(t.Context(), env); err != nil {
			t.Fatal(err)
		}
	}
	faults := func() (injected, healed int) { return env.World.(*worldtest.World).Faults() }
	if injected, _ := faults(); injected != 0 {
		t.Fatal("the fault has not waited")
	}
	migrate := &step.Migrate{Shoot: "alpha", To: "b"}
	if err := migrate.Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if injected, _ := faults(); injected == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the fault still waits")
		}
	}
	if err := env.Faults.HealAll(t.Context()); err != nil {
		t.Error(err)
	}
	if injected, healed := faults(); injected != 2 || healed != 2 {
		t.Errorf("%d faults injected, %d healed", injected, healed)
	}
}

func TestCheckWhen(t *testing.T) {
	t.Parallel()
	on := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}}, Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}
	requests := func(verb string) *fault.OnRequest {
		return &fault.OnRequest{Requests: fault.Requests{Objects: fault.Objects{Actor: "gardenlet-a", Target: "garden"},
			Verbs: []string{verb}}}
	}
	for _, c := range []struct {
		when step.When
		want string
	}{
		{step.When{}, "when: Invalid value: \"\": must have either that, a condition, or request, an API event"},
		{step.When{That: "true", Request: requests("get")}, "must have either that, a condition, or request"},
		{step.When{That: "seed('z').ready"}, `when.that: Unsupported value: "seed('z')"`},
		{step.When{Request: requests("read")},
			`when.request.verbs[0]: Unsupported value: "read": supported values: "get", "list", "watch"`},
		{step.When{Request: requests("get")}, ""},
	} {
		errs := c.when.Check(field.NewPath("when"), step.NewState(on, nil))
		if c.want == "" && len(errs) == 0 || len(errs) == 1 && c.want != "" && strings.Contains(errs[0].Error(), c.want) {
			continue
		}
		t.Errorf("%s: %v, want %q", &c.when, errs, c.want)
	}
}

// While the garden is down its API cannot be used, and nothing in it can be seen.
func TestCheck_GardenIsDown_RefusesStepsThatNeedIt(t *testing.T) {
	t.Parallel()
	on := landscape.Landscape{
		Seeds: []landscape.Seed{{Name: "a"}, {Name: "b"}},
		Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}, {Name: "sleepy", Seed: "a", Hibernated: true},
			{Name: "later", Seed: "b"}},
	}
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}`
	for harm, fire := range map[string]fault.Spec{
		"lost":   {Name: "fire", LoseCluster: &fault.LoseCluster{Cluster: fault.Cluster{Cluster: "garden"}}},
		"frozen": {Name: "fire", FreezeCluster: &fault.FreezeCluster{Cluster: fault.Cluster{Cluster: "garden"}}},
	} {
		for text, needs := range map[string]bool{
			`{"migrate":{"shoot":"alpha","to":"b"}}`:                                                  true,
			`{"migrate":{"shoot":"alpha","to":"b","refused":true}}`:                                   true,
			`{"create":{"shoot":"later","within":"1m"}}`:                                              true,
			`{"delete":{"shoot":"alpha"}}`:                                                            true,
			`{"hibernate":{"shoot":"alpha"}}`:                                                         true,
			`{"wake":{"shoot":"sleepy"}}`:                                                             true,
			`{"patch":{"shoot":"alpha","merge":{"metadata":{"labels":{"x":"y"}}}}}`:                   true,
			`{"patch":{"cloudProfile":"transplant","merge":{"metadata":{"labels":{"x":"y"}}}}}`:       true,
			`{"reschedule":{"shoot":"alpha","endsIn":"1h","lasts":"1h"}}`:                             true,
			`{"apply":{"shoot":"alpha","object":` + object + `}}`:                                     true,
			`{"remove":{"shoot":"alpha","object":` + object + `}}`:                                    true,
			`{"select":{"shoot":"alpha","nodes":1}}`:                                                  true,
			`{"load":{"shoot":"alpha","writesPerSecond":1,"keepAddress":true}}`:                       true,
			`{"load":{"shoot":"alpha","writesPerSecond":1}}`:                                          false,
			`{"expect":{"that":"shoot('alpha').healthy","within":"1m"}}`:                              true,
			`{"wait":{"until":"!seed('a').ready","within":"1m"}}`:                                     true,
			`{"expect":{"that":"seed('a').shoots == 1 && cloud.machines > 0","within":"1m"}}`:         false,
			`{"wait":{"for":"1m","because":"it shall last"}}`:                                         false,
			`{"fault":{"name":"x","kill":{"actor":"gardenlet-a"},"when":{"that":"seed('a').ready"}}}`: false,
		} {
			state := step.NewState(on, []step.Spec{{Create: &step.Create{Shoot: "later"}}})
			begin, spec := step.Inject{Spec: fire}, step.Spec{}
			if err := json.Unmarshal([]byte(text), &spec); err != nil {
				t.Fatal(err)
			}
			if errs := begin.Check(field.NewPath("fault"), state); len(errs) > 0 {
				t.Fatal(errs)
			}
			errs := spec.Check(field.NewPath("step"), state)
			want := `Forbidden: cluster "garden" is ` + harm + ` by the fault "fire" at this step: heal it before`
			if needs != (len(errs) == 1 && strings.HasSuffix(errs[0].Error(), want)) || len(errs) > 1 {
				t.Errorf("%s with a garden that is %s: %v", text, harm, errs)
			}
			heal := step.Heal("fire")
			if errs := heal.Check(field.NewPath("heal"), state); len(errs) > 0 {
				t.Error(errs)
			}
		}
	}
}

// outside is a World that ends the restore of a control plane outside any seed in this way.
type outside struct {
	world.World
	ends error
}

func (o outside) RestoreOutside(context.Context, string) error { return o.ends }

// A command that fails has not refused the shoot as one that somebody else runs.
func TestRestoreOutside_Refused_WantsThatSomebodyElseRunsIt(t *testing.T) {
	t.Parallel()
	owned, failed := world.RefusedOutside{Why: "it is owned", Owned: true}, world.RefusedOutside{Why: "no backups"}
	for _, c := range []struct {
		refused bool
		ends    error
		unmet   string
	}{
		{refused: true, ends: owned},
		{refused: true, ends: failed, unmet: "it was refused: no backups"},
		{refused: true, unmet: "it has begun"},
		{ends: owned, unmet: "it was refused: it is owned"},
		{},
	} {
		one := step.RestoreOutside{Shoot: "alpha", Refused: c.refused}
		err := one.Run(t.Context(), &step.Environment{World: outside{ends: c.ends}})
		if (err != nil) != (c.unmet != "") || err != nil && (!errors.As(err, &step.Unmet{}) ||
			!strings.Contains(err.Error(), c.unmet)) {
			t.Errorf("%s, ends with %v: %v", &one, c.ends, err)
		}
	}
}
