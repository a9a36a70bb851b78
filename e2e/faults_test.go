package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/fault"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// harm is a fault, and what shows that it bites.
type harm struct {
	name, fault string
	// victims are to be dead or frozen; none for what harms no process.
	victims func() ([]process.Program, error)
	// hurt is seen while the fault is at work, well once it is healed.
	hurt func(victims []process.Program) looked
	well looked
	// first is done before the fault.
	first func(t *testing.T)
}

// Every fault that takes a landscape hits something on a real one, heals, and leaves nothing behind: processes,
// clusters, disks, backups, the cloud. Faults of a control plane do so, too, while another seed is lost. Attacks on it
// are refused.
func TestFaultsOnALandscape(t *testing.T) {
	h := newHarmed(t)
	for _, each := range h.faults() {
		t.Run(each.name, func(t *testing.T) { h.conforms(t, each) })
	}
	t.Run("healed though the run was cancelled", h.healedThoughCancelled)
	t.Run("beside a lost seed", func(t *testing.T) {
		before := t.Name() + ", killed before"
		if err := h.active.Inject(t.Context(), before, parse(t, `kill: {cluster: a, program: kube-scheduler}`)); err != nil {
			t.Fatal(err)
		}
		h.during(t, h.loss(), func() {
			if err := h.active.Heal(t.Context(), before); err != nil {
				t.Errorf("a program was killed before its cluster was lost: %v", err)
			}
			if _, err := h.cluster("a").Program("kube-scheduler"); err == nil {
				t.Error("a program was revived in a cluster that is lost")
			}
			h.refused(t, "a dead program", `kill: {cluster: a, program: etcd}`, "no such process runs")
			t.Run("cancelled while it waits", h.cancelledMidway)
			for _, each := range h.ofControlPlane() {
				t.Run(each.name, func(t *testing.T) { h.conforms(t, each) })
			}
		})
		h.clean(t)
	})
	t.Run("attacks are refused", h.attacks)
}

// Whatever takes a landscape is tried on one; the rest is in links, and tried by package fault on an API server.
func TestWhateverTakesALandscapeIsTriedOnOne(t *testing.T) {
	t.Parallel()
	h, kinds := &harmed{}, map[string]bool{}
	tried := map[world.Ability]bool{world.BreakLinks: true, world.CrashActors: true, world.EditObjects: true}
	for _, each := range append(append(h.faults(), h.ofControlPlane()...), h.loss()) {
		kind, _, _ := strings.Cut(each.fault, ":")
		kinds[kind], tried[parse(t, each.fault).Traits().Ability] = true, true
	}
	form := reflect.TypeFor[fault.Spec]()
	for i := range form.NumField() {
		if form.Field(i).Type.Kind() != reflect.Pointer {
			continue
		}
		spec := &fault.Spec{}
		reflect.ValueOf(spec).Elem().Field(i).Set(reflect.New(form.Field(i).Type.Elem()))
		if kind, f := spec.Fault(); !kinds[kind] && !tried[f.Traits().Ability] {
			t.Errorf("nobody tries %s, which needs to %s", kind, f.Traits().Ability)
		}
	}
}

// loss of seed a.
func (h *harmed) loss() harm {
	return harm{
		name: "lose a cluster", fault: `loseCluster: {cluster: a}`, victims: h.everything("a"),
		hurt: func(all []process.Program) looked { return both(dead(all), not(h.answers("a"))) }, well: h.answers("a"),
	}
}

// faults of actors, clusters, backups and the cloud.
func (h *harmed) faults() []harm {
	gardenlet, extensions, gateway := h.called("a", "transplant", "gardenlet"), h.called("a", "transplant", "extensions"),
		h.called("a", "transplant", "gateway")
	manager, scheduler := h.own("a", "kube-controller-manager"), h.own("a", "kube-scheduler")
	list := func(ctx context.Context) error {
		_, err := h.world.Cloud().Machines().List(ctx, cloud.Filter{})
		return err
	}
	backups, missing := map[string][]byte{}, &missingBackups{harmed: h, kept: map[string][]byte{}}
	return []harm{
		{name: "kill an actor", fault: `kill: {actor: gardenlet-a}`, victims: gardenlet, hurt: dead, well: again(gardenlet)},
		{name: "kill an actor for long", fault: `kill: {actor: extensions-a, restartDelay: 1h}`, victims: extensions,
			hurt: keptDown(extensions), well: again(extensions)},
		{name: "freeze an actor", fault: `freeze: {actor: gateway-a}`, victims: gateway, hurt: frozen, well: again(gateway)},
		{name: "kill a program of a cluster", fault: `kill: {cluster: a, program: kube-controller-manager}`, victims: manager,
			hurt: dead, well: again(manager)},
		{name: "freeze a program of a cluster", fault: `freeze: {cluster: a, program: kube-scheduler}`, victims: scheduler,
			hurt: frozen, well: again(scheduler)},
		{
			name: "freeze a cluster", fault: `freezeCluster: {cluster: a}`, victims: h.everything("a"),
			hurt: func(all []process.Program) looked { return both(frozen(all), not(h.answers("a"))) }, well: h.answers("a"),
		},
		{
			name: "Chaos Mesh: pod-failure",
			fault: `chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, metadata: {name: x}, ` +
				`spec: {action: pod-failure, mode: all, selector: {namespaces: [istio-ingress]}}}}`,
			victims: gateway, well: again(gateway),
			// Its successor may be frozen before it has become a gateway.
			hurt: func(all []process.Program) looked { return both(dead(all), one(h.everything("a"), standsStill)) },
		},
		{
			name: "damage a backup", fault: `damageBackup: {shoot: alpha}`, first: func(t *testing.T) {
				h.keepBackups(t, backups)
			},
			hurt: func([]process.Program) looked { return not(h.backupsAre(backups)) }, well: h.backupsAre(backups),
		},
		{
			name: "a backup is missing", fault: `damageBackup: {shoot: alpha, missing: true}`, first: func(t *testing.T) {
				h.keepBackups(t, missing.kept)
			},
			hurt: func([]process.Program) looked { return missing.some }, well: missing.back,
		},
		{
			name: "the cloud refuses", fault: `cloudError: {code: ERR_INFRA_QUOTA_EXCEEDED, kinds: [machines], verbs: [list]}`,
			hurt: func([]process.Program) looked { return not(list) }, well: list,
		},
		{
			name: "lose a cluster with its disks", fault: `loseCluster: {cluster: a, wipe: true}`, victims: h.everything("a"),
			hurt: func(all []process.Program) looked {
				return both(dead(all), not(h.hasData("a")))
			}, well: both(h.hasData("a"), h.answers("a")),
		},
	}
}

// ofControlPlane are faults of the shoot's control plane, on seed b. The last one takes its data away.
func (h *harmed) ofControlPlane() []harm {
	server, etcd, guard := h.called("b", "kube-apiserver"), h.called("b", "etcd"),
		h.called("b", "transplant", "etcd-guard")
	return []harm{
		{name: "kill its API server for long", fault: `kill: {shoot: alpha, program: kube-apiserver, restartDelay: 1h}`,
			victims: server, hurt: keptDown(server), well: again(server)},
		{name: "freeze its etcd", fault: `freeze: {shoot: alpha, program: etcd}`, victims: etcd, hurt: frozen,
			well: again(etcd)},
		{name: "kill its guard", fault: `kill: {shoot: alpha, program: guard}`, victims: guard, hurt: dead,
			well: again(guard)},
		{
			name: "wipe its etcd", fault: `wipeEtcd: {shoot: alpha}`, victims: etcd, first: h.mark,
			hurt: func(all []process.Program) looked { return both(dead(all), h.unmarked) }, well: again(etcd),
		},
	}
}

// conforms: the fault is injected, seen and hits; it is healed, and nothing of it is left.
func (h *harmed) conforms(t *testing.T, it harm) {
	h.during(t, it, func() {})
	h.clean(t)
}

// during a fault something is done.
func (h *harmed) during(t *testing.T, it harm, do func()) {
	t.Helper()
	if it.first != nil {
		it.first(t)
	}
	var victims []process.Program
	if it.victims != nil {
		var err error
		if victims, err = it.victims(); err != nil || len(victims) == 0 {
			t.Fatalf("whom it will harm: %v, %v", victims, err)
		}
	}
	name := t.Name()
	if err := h.active.Inject(t.Context(), name, parse(t, it.fault)); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { // also when it does not bite
			if err := h.active.Heal(t.Context(), name); err != nil {
				t.Error(err)
			}
		}()
		h.eventually(t, "it bites", it.hurt(victims))
		do()
	}()
	h.eventually(t, "all is well", it.well)
	ends := h.healed(name)
	if len(ends) != 1 || ends[0].Hits == 0 || ends[0].Error != "" {
		t.Errorf("recorded %+v, want one with hits", ends)
	}
}

// healed is what is recorded of the ends of a fault.
func (h *harmed) healed(name string) (ends []timeline.FaultHealed) {
	for e, healed := range timeline.Of[timeline.FaultHealed](h.journal.Events()) {
		if e.Subject == name {
			ends = append(ends, healed)
		}
	}
	return ends
}

// refused are faults that find nothing to harm.
func (h *harmed) refused(t *testing.T, name, text, want string) {
	t.Helper()
	if err := h.active.Inject(t.Context(), name, parse(t, text)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// cancelledMidway: a fault that still waits for its process, of a cluster that is lost, never begins.
func (h *harmed) cancelledMidway(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(time.Second, cancel) // the wait is much longer
	err := h.active.Inject(ctx, t.Name(), parse(t, `kill: {actor: gardenlet-a}`))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted while it waited: %v", err)
	}
	for e := range timeline.Of[timeline.FaultInjected](h.journal.Events()) {
		if e.Subject == t.Name() {
			t.Error("it has begun")
		}
	}
	if ends := h.healed(t.Name()); len(ends) > 0 {
		t.Errorf("recorded %+v", ends)
	}
}

// healedThoughCancelled: the run is cancelled when the first process of a cluster stands still, or is dead. The
// backend then breaks the rest of it all the same, and the heal is not cancelled.
func (h *harmed) healedThoughCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		fault string
		begun func(process.Program) bool // what becomes of one of the victims
	}{
		"freezeCluster": {`freezeCluster: {cluster: a}`, standsStill},
		"loseCluster":   {`loseCluster: {cluster: a}`, isDead},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			victims, err := h.everything("a")()
			if err != nil {
				t.Fatal(err)
			}
			all := func() ([]process.Program, error) { return victims, nil }
			injected := make(chan error, 1)
			go func() { injected <- h.active.Inject(ctx, t.Name(), parse(t, c.fault)) }()
			h.eventually(t, "it has begun", one(all, c.begun))
			cancel()
			if err := errors.Join(<-injected, h.active.HealAll(ctx)); err != nil {
				t.Error(err)
			}
			if ends := h.healed(t.Name()); len(ends) != 1 || ends[0].Error != "" {
				t.Errorf("recorded %+v, want one end", ends)
			}
			h.eventually(t, "the cluster answers", h.answers("a"))
			h.clean(t)
		})
	}
}

// clean: every program of every cluster and every actor runs, nothing stands still, the cloud has no fault, and the
// shoot is well.
func (h *harmed) clean(t *testing.T) {
	t.Helper()
	h.eventually(t, "nothing is left of it", func(ctx context.Context) error {
		var errs []error
		for _, name := range []string{simlandscape.Garden, "a", "b"} {
			if !h.lost(name) {
				errs = append(errs, h.complete(ctx, name))
			}
		}
		all, err := process.ProgramsBelow(os.Getpid())
		for _, one := range all {
			if standsStill(one) {
				errs = append(errs, fmt.Errorf("%v stands still", one.Args[:min(2, len(one.Args))]))
			}
		}
		faults, wrong := h.world.Cloud().Faults(ctx)
		if len(faults) > 0 {
			errs = append(errs, fmt.Errorf("the cloud has %d faults", len(faults)))
		}
		return errors.Join(append(errs, err, wrong, h.shootIsWell(ctx))...)
	})
}

// parse a fault as it stands in files.
func parse(t *testing.T, text string) fault.Fault {
	t.Helper()
	spec := fault.Spec{}
	if err := yaml.UnmarshalStrict([]byte("{"+text+"}"), &spec); err != nil {
		t.Fatal(err)
	}
	_, f := spec.Fault()
	if f == nil {
		t.Fatalf("%s is no fault", text)
	}
	return f
}
