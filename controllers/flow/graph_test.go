package flow

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// log records the order in which tasks run.
type log struct {
	mu   sync.Mutex
	ran  []TaskID
	fail map[TaskID]error
}

func (l *log) task(name TaskID, after ...TaskID) Task {
	return Task{Name: name, After: after, Run: func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ran = append(l.ran, name)
		return l.fail[name]
	}}
}

func TestRunKeepsTheOrder(t *testing.T) {
	t.Parallel()
	l := &log{}
	var g Graph
	a := g.Add(l.task("a"))
	b := g.Add(l.task("b", a))
	g.Add(l.task("c", b))
	if err := g.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]TaskID{"a", "b", "c"}, l.ran); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAFailedTaskHoldsBackOnlyItsDependants(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	l := &log{fail: map[TaskID]error{"a": boom}}
	var g Graph
	a := g.Add(l.task("a"))
	g.Add(l.task("after a", a))
	x := g.Add(l.task("x"))
	g.Add(l.task("after x", x))

	err := g.Run(t.Context(), nil)

	failed := Errors(err)
	if len(failed) != 1 || failed[0].Task != "a" || !errors.Is(err, boom) {
		t.Fatalf("got %v, want the error of task a", err)
	}
	for _, name := range l.ran {
		if name == "after a" {
			t.Error("a task ran although the one before it had failed")
		}
	}
	if len(l.ran) != 3 {
		t.Errorf("ran %v, want a, x and after x", l.ran)
	}
}

func TestErrorsAreInTaskOrder(t *testing.T) {
	t.Parallel()
	l := &log{fail: map[TaskID]error{"one": errors.New("1"), "two": errors.New("2"), "three": errors.New("3")}}
	var g Graph
	for _, name := range []TaskID{"one", "two", "three"} {
		g.Add(l.task(name))
	}
	var got []TaskID
	for _, e := range Errors(g.Run(t.Context(), nil)) {
		got = append(got, e.Task)
	}
	if diff := cmp.Diff([]TaskID{"one", "two", "three"}, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// A skipped task between two others must not loosen their order.
func TestSkippedTaskKeepsTheOrderAroundIt(t *testing.T) {
	t.Parallel()
	l := &log{fail: map[TaskID]error{"a": errors.New("boom")}}
	var g Graph
	a := g.Add(l.task("a"))
	skipped := l.task("b", a)
	skipped.Skip = true
	b := g.Add(skipped)
	g.Add(l.task("c", b))

	if err := g.Run(t.Context(), nil); err == nil {
		t.Fatal("want the error of a")
	}
	if diff := cmp.Diff([]TaskID{"a"}, l.ran); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

func TestProgressCountsOnlyWhatIsNotSkipped(t *testing.T) {
	t.Parallel()
	l := &log{}
	var g Graph
	a := g.Add(l.task("a"))
	skipped := l.task("b", a)
	skipped.Skip = true
	g.Add(l.task("c", g.Add(skipped)))

	var percents []int32
	if err := g.Run(t.Context(), ObserverFunc(func(p Progress) { percents = append(percents, p.Percent) })); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{0, 50, 100}, percents); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestCancelStartsNothingMoreAndSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var g Graph
	a := g.Add(Task{Name: "a", Run: func(context.Context) error { cancel(); return nil }})
	g.Add(Task{Name: "b", After: []TaskID{a}, Run: func(context.Context) error { return errors.New("must not run") }})
	if err := g.Run(ctx, nil); !errors.Is(err, context.Canceled) || len(Errors(err)) != 0 {
		t.Fatalf("got %v, want only context.Canceled", err)
	}
}

func TestPanicIsAnErrorOfItsTask(t *testing.T) {
	t.Parallel()
	var g Graph
	g.Add(Task{Name: "a", Run: func(context.Context) error { panic("oops") }})
	if failed := Errors(g.Run(t.Context(), nil)); len(failed) != 1 || failed[0].Error() != `task "a": panic: oops` {
		t.Fatalf("got %v", failed)
	}
}

func TestWiringErrorsPanic(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string]func(*Graph){
		"duplicate":   func(g *Graph) { g.Add(Task{Name: "a"}); g.Add(Task{Name: "a"}) },
		"unknown one": func(g *Graph) { g.Add(Task{Name: "a", After: []TaskID{"b"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("want a panic")
				}
			}()
			wire(&Graph{})
		})
	}
}

func TestBeforeFollowsTheDependenciesOnly(t *testing.T) {
	t.Parallel()
	l := &log{}
	var g Graph
	a := g.Add(l.task("a"))
	g.Add(l.task("beside", a))
	b := g.Add(Task{Name: "skipped", After: []TaskID{a}, Skip: true})
	c := g.Add(l.task("c"))
	d := g.Add(l.task("d", b, c))
	g.Add(l.task("later", d))
	for task, want := range map[TaskID][]TaskID{"a": nil, "c": nil, "d": {"a", "c"}, "later": {"a", "c", "d"}} {
		if diff := cmp.Diff(want, g.Before(task)); diff != "" {
			t.Errorf("before %q (-want +got):\n%s", task, diff)
		}
	}
}
