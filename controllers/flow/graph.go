// Package flow runs a graph of named tasks: each task starts when those it comes after have succeeded, independent
// tasks run at the same time, and a failed task keeps back only what depends on it.
//
// It is a leaf: it knows nothing of shoots, API servers or retries across runs. A Graph keeps no state, so the same
// graph can be run again after an error; tasks must therefore be idempotent.
package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// TaskID names a task. It is what lastOperation.description and lastErrors[].taskID show.
type TaskID string

// Task is a node of a Graph.
type Task struct {
	// Name is unique in its graph.
	Name TaskID
	// Run does the work. It must return soon after ctx is done, and must be idempotent.
	Run func(context.Context) error
	// After lists the tasks that must have succeeded (or been skipped) before. Being return values of Graph.Add they
	// cannot form a cycle.
	After []TaskID
	// Skip leaves the task out: it counts as succeeded for those that come after, and not at all for progress.
	Skip bool
}

// Graph is an ordered set of tasks. The zero value is an empty graph.
type Graph struct {
	tasks []Task
	index map[TaskID]int
}

// Add appends a task and returns its name, for the After of later ones. It panics on a duplicate name and on a name
// in After that was not added before: both are errors of wiring.
func (g *Graph) Add(task Task) TaskID {
	if g.index == nil {
		g.index = map[TaskID]int{}
	}
	if _, exists := g.index[task.Name]; exists {
		panic(fmt.Sprintf("flow: task %q was added twice", task.Name))
	}
	for _, before := range task.After {
		if _, exists := g.index[before]; !exists {
			panic(fmt.Sprintf("flow: task %q comes after %q, which was not added", task.Name, before))
		}
	}
	g.index[task.Name] = len(g.tasks)
	g.tasks = append(g.tasks, task)
	return task.Name
}

// Tasks returns the names of the tasks that are not skipped, in the order in which they were added.
func (g *Graph) Tasks() []TaskID {
	names := make([]TaskID, 0, len(g.tasks))
	for _, task := range g.tasks {
		if !task.Skip {
			names = append(names, task.Name)
		}
	}
	return names
}

// Before returns what must have ended before the task starts, directly or not, in the order in which it was added.
// Tasks that are skipped are passed through, and not named.
func (g *Graph) Before(task TaskID) []TaskID {
	needed := map[TaskID]bool{task: true}
	var before []TaskID
	for i := len(g.tasks) - 1; i >= 0; i-- { // a task comes after earlier ones only
		this := g.tasks[i]
		if !needed[this.Name] {
			continue
		}
		for _, earlier := range this.After {
			needed[earlier] = true
		}
		if this.Name != task && !this.Skip {
			before = append(before, this.Name)
		}
	}
	slices.Reverse(before)
	return before
}

// Progress is where a run stands.
type Progress struct {
	// Percent is 100 · succeeded / (all − skipped), rounded down.
	Percent int32
	// Running are the tasks at work, in the order in which they were added.
	Running []TaskID
	// Succeeded are the tasks that ended well, in the order in which they were added.
	Succeeded []TaskID
}

// Observer hears of every change of a run. Calls do not overlap.
type Observer interface {
	Observe(Progress)
}

// ObserverFunc is a function as an Observer.
type ObserverFunc func(Progress)

// Observe calls the function.
func (f ObserverFunc) Observe(p Progress) { f(p) }

// TaskError is the error of one task.
type TaskError struct {
	Task TaskID
	Err  error
}

// Error implements error.
func (e *TaskError) Error() string { return fmt.Sprintf("task %q: %v", e.Task, e.Err) }

// Unwrap returns the task's own error.
func (e *TaskError) Unwrap() error { return e.Err }

// Errors takes the task errors out of what Run returned, in task order.
func Errors(err error) []*TaskError {
	if err == nil {
		return nil
	}
	if one := new(TaskError); errors.As(err, &one) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			var all []*TaskError
			for _, e := range joined.Unwrap() {
				all = append(all, Errors(e)...)
			}
			return all
		}
		return []*TaskError{one}
	}
	return nil
}

func sortedBy(index map[TaskID]int, names map[TaskID]bool) []TaskID {
	return slices.SortedFunc(maps.Keys(names), func(a, b TaskID) int { return cmp.Compare(index[a], index[b]) })
}
