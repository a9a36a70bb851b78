package flow

import (
	"context"
	"errors"
	"fmt"
)

// Run runs the graph and returns when no task is at work and none can start. Once ctx is done no further task
// starts. The error joins one TaskError per failed task, in task order; if ctx ended the run before all tasks
// succeeded, the cause of that is joined too. A panic of a task is an error of that task. observer may be nil.
func (g *Graph) Run(ctx context.Context, observer Observer) error {
	r := &run{
		graph:     g,
		waiting:   map[TaskID]bool{},
		running:   map[TaskID]bool{},
		succeeded: map[TaskID]bool{},
		failed:    map[TaskID]error{},
		results:   make(chan result),
		observer:  observer,
	}
	for _, task := range g.tasks {
		if task.Skip {
			continue
		}
		r.waiting[task.Name] = true
		r.total++
	}
	r.loop(ctx)
	return r.err(ctx)
}

type result struct {
	name TaskID
	err  error
}

// run is the state of one Run. Only the goroutine of Run touches it; tasks report through results.
type run struct {
	graph                       *Graph
	total                       int
	waiting, running, succeeded map[TaskID]bool
	failed                      map[TaskID]error
	results                     chan result
	observer                    Observer
}

func (r *run) loop(ctx context.Context) {
	for {
		r.start(ctx)
		r.observe()
		if len(r.running) == 0 {
			return
		}
		done := <-r.results
		delete(r.running, done.name)
		if done.err != nil {
			r.failed[done.name] = done.err
			continue
		}
		r.succeeded[done.name] = true
	}
}

// start starts every waiting task whose predecessors have succeeded.
func (r *run) start(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	for _, task := range r.graph.tasks {
		if !r.waiting[task.Name] || !r.ready(task) {
			continue
		}
		delete(r.waiting, task.Name)
		r.running[task.Name] = true
		go func() { r.results <- result{task.Name, guarded(ctx, task)} }()
	}
}

func (r *run) ready(task Task) bool {
	for _, name := range task.After {
		if before := r.graph.tasks[r.graph.index[name]]; before.Skip {
			// A skipped task stands for those it comes after.
			if !r.ready(before) {
				return false
			}
			continue
		}
		if !r.succeeded[name] {
			return false
		}
	}
	return true
}

func (r *run) observe() {
	if r.observer == nil {
		return
	}
	percent := int32(100)
	if r.total > 0 {
		percent = int32(100 * len(r.succeeded) / r.total)
	}
	r.observer.Observe(Progress{
		Percent:   percent,
		Running:   sortedBy(r.graph.index, r.running),
		Succeeded: sortedBy(r.graph.index, r.succeeded),
	})
}

func (r *run) err(ctx context.Context) error {
	var errs []error
	for _, task := range r.graph.tasks {
		if err, failed := r.failed[task.Name]; failed {
			errs = append(errs, &TaskError{task.Name, err})
		}
	}
	if ctx.Err() != nil && len(r.succeeded) < r.total {
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(errs...)
}

func guarded(ctx context.Context, task Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return task.Run(ctx)
}
