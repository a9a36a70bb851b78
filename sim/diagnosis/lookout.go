package diagnosis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// lookEvery is how often a Lookout looks: a look lists all pods, which are many where there are many shoots.
const lookEvery = 2 * time.Second

// explainWithin bounds an explanation: who waits for it has waited long already.
const explainWithin = 15 * time.Second

// Lookout watches a landscape while something comes up in it: the pods of garden and seeds, and what extensions are
// asked for.
type Lookout struct {
	clock    clock.WithTicker
	clinics  []*Clinic
	requests []*Requests
	webhooks *Webhooks  // nil without a garden or third-party extensions
	looking  sync.Mutex // requests and webhooks remember what they have seen
}

// Options of a Lookout.
type Options struct {
	Clusters   []string              // the garden, if there is one, and the seeds
	Extensions []landscape.Extension // third-party ones
	// Connect gives the observer's access to a cluster.
	Connect func(cluster string) (*rest.Config, error)
	Owners  world.PodOwners
	Clock   clock.WithTicker
	// Patience is how long is waited for what comes up.
	Patience time.Duration
	// PortHolders names the programs that listen at a port, where all pods share those of this machine; nil elsewhere.
	PortHolders func(port int) []string
}

// NewLookout on a landscape.
func NewLookout(o Options) (*Lookout, error) {
	l := &Lookout{clock: o.Clock}
	for _, cluster := range o.Clusters {
		config, err := o.Connect(cluster)
		if err != nil {
			return nil, fmt.Errorf("connect to cluster %q: %w", cluster, err)
		}
		clinic, err := NewClinic(cluster, config, o.Owners, o.Clock)
		if err != nil {
			return nil, err
		}
		clinic.PortHolders = o.PortHolders
		l.clinics = append(l.clinics, clinic)
		api, err := dynamic.NewForConfig(world.Unlimited(config))
		if err != nil {
			return nil, fmt.Errorf("make the client for cluster %q: %w", cluster, err)
		}
		if cluster == landscape.Garden {
			if len(o.Extensions) > 0 {
				l.webhooks = &Webhooks{Garden: api, Patience: o.Patience}
			}
			continue
		}
		l.requests = append(l.requests, &Requests{
			Seed: cluster, Extensions: o.Extensions, API: api, Clock: o.Clock, Patience: o.Patience,
		})
	}
	if l.webhooks != nil {
		l.webhooks.Clinics = l.clinics
	}
	return l, nil
}

// Watch until stop is called. The context that it returns ends as soon as something is not worth waiting for, with a
// *NeverUpError as its cause.
func (l *Lookout) Watch(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := l.clock.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-ticker.C():
			}
			if found := l.hopeless(watched); len(found) > 0 {
				cancel(&NeverUpError{Findings: found})
				return
			}
		}
	})
	return watched, func() {
		cancel(nil)
		done.Wait()
	}
}

// Why is what a wait has to say that has ended with this error on a watched context, after stop: that something was not
// worth waiting for, and nothing else, or the error with all that is not up now. An interrupt of ctx needs no
// explanation.
func (l *Lookout) Why(ctx, watched context.Context, err error) error {
	never := (*NeverUpError)(nil)
	switch {
	case err == nil || errors.Is(ctx.Err(), context.Canceled):
		return err
	case errors.As(context.Cause(watched), &never):
		return never
	}
	return l.Explain(ctx, err)
}

// Explain adds all that is not up now to an error.
func (l *Lookout) Explain(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainWithin)
	defer cancel()
	found, unseen := l.look(ctx)
	found = l.withLogs(ctx, found)
	if len(found) > 0 {
		err = fmt.Errorf("%w\nnot up by then:\n%s", err, Describe(found))
	}
	if unseen != nil {
		err = fmt.Errorf("%w\nnot known what is up: %w", err, unseen)
	}
	return err
}

// hopeless findings. What cannot be looked at just now is looked at again: unknown is not hopeless.
func (l *Lookout) hopeless(ctx context.Context) []Finding {
	found, _ := l.look(ctx)
	found = slices.DeleteFunc(found, func(f Finding) bool { return !f.State.Hopeless() })
	return l.withLogs(ctx, found)
}

// look everywhere at once. What is not worth waiting for comes first, and third-party extensions before what may fail
// because of them. The error says what could not be looked at.
func (l *Lookout) look(ctx context.Context) ([]Finding, error) {
	l.looking.Lock()
	defer l.looking.Unlock()
	var looks []func(context.Context) ([]Finding, error)
	for _, c := range l.clinics {
		looks = append(looks, c.Look)
	}
	for _, r := range l.requests {
		looks = append(looks, r.Look)
	}
	if l.webhooks != nil {
		looks = append(looks, l.webhooks.Look)
	}
	parts, errs := make([][]Finding, len(looks)), make([]error, len(looks))
	var looked sync.WaitGroup
	for i, look := range looks {
		looked.Go(func() { parts[i], errs[i] = look(ctx) })
	}
	looked.Wait()
	found := slices.Concat(parts...)
	for i := range found {
		for _, c := range l.clinics {
			if c.Cluster == found[i].Cluster {
				c.condemnUnserved(ctx, &found[i])
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(rankOf(a.Owner), rankOf(b.Owner)))
	})
	return found, errors.Join(errs...)
}

func urgency(f Finding) int {
	if f.State.Hopeless() {
		return 0
	}
	return 1
}

// withLogs adds the ends of the logs of those that are described one by one.
func (l *Lookout) withLogs(ctx context.Context, found []Finding) []Finding {
	for i := range found[:min(len(found), mostFindings)] {
		for _, c := range l.clinics {
			if c.Cluster == found[i].Cluster {
				c.addLog(ctx, &found[i])
			}
		}
	}
	return found
}
