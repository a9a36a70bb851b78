package harm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
	"github.com/transplant-sim/transplant/sim/world"
)

// rickety is a cluster in which whatever is begun may fail midway.
type rickety struct {
	clusters.Cluster
	name    string
	fails   error
	runs    []process.Program // in its pods
	program map[string]process.ID
	state   []string // what was done to it
}

func (r *rickety) Name() string        { return r.name }
func (r *rickety) Role() clusters.Role { return clusters.Seed }

func (r *rickety) did(what string, err error) error {
	r.state = append(r.state, what)
	return err
}

func (r *rickety) Lose(context.Context, bool) error          { return r.did("lost", r.fails) }
func (r *rickety) Return(context.Context) error              { return r.did("returned", nil) }
func (r *rickety) Freeze(context.Context) error              { return r.did("frozen", r.fails) }
func (r *rickety) Thaw(context.Context) error                { return r.did("thawed", nil) }
func (r *rickety) Kill(_ context.Context, p string) error    { return r.did("killed "+p, r.fails) }
func (r *rickety) Revive(_ context.Context, p string) error  { return r.did("revived "+p, nil) }
func (r *rickety) Volumes(context.Context) ([]string, error) { return nil, nil }
func (r *rickety) Program(name string) (process.ID, error) {
	if id, runs := r.program[name]; runs {
		return id, nil
	}
	return process.ID{}, errors.New("it does not run")
}

func (r *rickety) Containers(context.Context) ([]process.Program, error) {
	var live []process.Program
	for _, one := range r.runs {
		if one.Alive() {
			live = append(live, one)
		}
	}
	return live, nil
}

// grounds are a landscape of rickety seeds.
type grounds struct {
	environment.Landscape
	seeds []*rickety
}

func (g grounds) Clusters() (all []clusters.Cluster) {
	for _, seed := range g.seeds {
		all = append(all, seed)
	}
	return all
}

func (g grounds) Cluster(name string) (clusters.Cluster, error) {
	for _, seed := range g.seeds {
		if seed.name == name {
			return seed, nil
		}
	}
	return nil, errors.New("no such cluster")
}

// Whatever has failed midway comes with the way back from there.
func TestWhatFailsMidwayCanBeHealed(t *testing.T) {
	t.Parallel()
	midway := errors.New("midway")
	for name, c := range map[string]struct {
		harm  func(context.Context, *Injector) (world.Injection, error)
		state string
	}{
		"lose": {func(ctx context.Context, i *Injector) (world.Injection, error) {
			return i.LoseCluster(ctx, "a", false)
		}, "lost, returned"},
		"freeze": {func(ctx context.Context, i *Injector) (world.Injection, error) {
			return i.FreezeCluster(ctx, "a")
		}, "frozen, thawed"},
		"kill": {func(ctx context.Context, i *Injector) (world.Injection, error) {
			return i.BreakProcess(ctx, world.Process{Cluster: "a", Program: "etcd"}, world.Kill)
		}, "killed etcd, revived etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &rickety{name: "a", fails: midway, program: map[string]process.ID{"etcd": process.Self()}}
			injection, err := c.harm(t.Context(), New(&observe.Observer{Landscape: grounds{seeds: []*rickety{a}}}))
			if !errors.Is(err, midway) || injection.Heal == nil || injection.Hits() != 1 {
				t.Fatalf("the injection is %+v, %v", injection, err)
			}
			if err := injection.Heal(t.Context()); err != nil {
				t.Error(err)
			}
			if got := strings.Join(a.state, ", "); got != c.state {
				t.Errorf("what was done is %q, want %q", got, c.state)
			}
		})
	}
}

// A program that does not run is not killed, however often; and it is not brought back by that.
func TestADeadProgramIsNotKilled(t *testing.T) {
	t.Parallel()
	for _, harm := range []world.Harm{world.Kill, world.Freeze} {
		a := &rickety{name: "a"}
		injection, err := New(&observe.Observer{Landscape: grounds{seeds: []*rickety{a}}}).BreakProcess(t.Context(),
			world.Process{Cluster: "a", Program: "etcd"}, harm)
		if err == nil || !strings.Contains(err.Error(), "no such process runs") || injection.Heal != nil || len(a.state) > 0 {
			t.Errorf("%s: %v, %v", harm, err, a.state)
		}
	}
}
