package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// claim is what the gardenlet has written on a control-plane namespace: in which epoch it acts, and where that was
// decided.
type claim struct {
	self   ownership.Record
	record string
	rest   string // the rest of etcd in which it was read
}

// claimed reads the claim. An epoch that has ended by its owner's own decision is none any more: the destination waits
// for its final snapshot and for nothing else, although DNS names the source until the destination writes there
// (docs/ownership.md#o6, docs/ownership.md#o11).
func (f *GuardFence) claimed(ctx context.Context, namespace string) (claim, error) {
	object := &corev1.Namespace{}
	if err := f.Seed.Get(ctx, client.ObjectKey{Name: namespace}, object); apierrors.IsNotFound(err) {
		return claim{}, fmt.Errorf("%w: there is no namespace %q", ErrNoEpoch, namespace)
	} else if err != nil {
		return claim{}, fmt.Errorf("read the claimed epoch of %q: %w", namespace, err)
	}
	here, err := tenure.Of(object, nil)
	if err != nil || here.Phase == tenure.Abandoned {
		// Not yet claimed, or being cleaned up because somebody else has it: nobody may take that for the end of the shoot.
		return claim{}, &lapseError{"its namespace does not say in which epoch"}
	}
	if here.Next(tenure.Extension) == tenure.Refuse {
		return claim{}, &lapseError{"its epoch has ended here"}
	}
	said := object.Annotations
	c := claim{
		self:   ownership.Record{Owner: said[constants.OwnershipOwner], Epoch: here.Epoch},
		record: said[constants.OwnershipRecord],
	}
	if c.self.Owner == "" || c.record == "" {
		return claim{}, &lapseError{"its namespace does not say where its owner is recorded"}
	}
	return c, nil
}

// lapseError is a lapse, with a reason for people that does not change from one try to the next.
type lapseError struct{ why string }

func (e *lapseError) Error() string { return e.why }

// Unwrap makes it a validity.ErrLapsed.
func (e *lapseError) Unwrap() error { return validity.ErrLapsed }

// decided is the validity of an epoch whose etcd does not run. It is a guard that has no etcd to watch, only the
// decision to read: what docs/ownership.md#o1 says of a guard that has started is all that there is to it, so it is
// one. It begins lapsed, and DNS alone revives it; whoever has written the claim has seen both authorities name it
// (docs/ownership.md#o6).
type decided struct {
	guard    *validity.Guard
	clock    ownership.Clock
	decision ownership.Authority
	log      logr.Logger
	over     <-chan struct{} // closed when its etcd or another epoch has begun: no read gives anything any more
}

var _ holding = &decided{}

func (f *GuardFence) decided(namespace string, c claim) (*decided, error) {
	guard, err := validity.NewGuard(validity.GuardOptions{
		Self: c.self, Timing: f.Timing, Clock: f.Clock,
		Memory:   validity.Memory{Owner: c.self.Owner, Epoch: c.self.Epoch, Served: true},
		Remember: func(validity.Memory) error { return nil }, // who is restarted reads anew
	})
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	still := func(ctx context.Context) error {
		by, err := f.source(ctx, namespace)
		if err == nil && by != (source{claim: c}) {
			end()
			err = &lapseError{"its etcd or another epoch has begun"}
		}
		return err
	}
	return &decided{
		guard: guard, clock: f.Clock, decision: whileUnguarded{f.Decision(c.record), still}, over: over,
		log: ctrl.Log.WithName("fence").WithValues("namespace", namespace, "epoch", c.self.Epoch),
	}, nil
}

// whileUnguarded is an authority that is read only where no guard runs. It looks for one after it was read, so that
// every guard begins after the reads that it has not heard of: for those it waits by itself
// (validity.Guard.RevocationRemaining).
type whileUnguarded struct {
	ownership.Authority
	still func(context.Context) error
}

// Read implements ownership.Authority.
func (a whileUnguarded) Read(ctx context.Context) (ownership.Record, ownership.Version, error) {
	record, version, err := a.Authority.Read(ctx)
	if err == nil {
		err = a.still(ctx)
	}
	return record, version, err
}

// Term implements holding.
func (d *decided) Term() *validity.Term { return d.guard.Term() }

// Ask implements holding.
func (d *decided) Ask(ctx context.Context) error {
	if d.guard.State() != validity.Fenced {
		d.guard.Look(ctx, ownership.Decision, d.decision, d.log)
	}
	if d.Term().Valid() {
		return nil
	}
	seen, known := d.guard.Seen(ownership.Decision)
	if reason, is := errors.AsType[*lapseError](seen.Err); is {
		return reason
	}
	switch {
	case !known || seen.Err != nil:
		return &lapseError{"its owner record in DNS cannot be read"}
	case seen.Record.Absent():
		return &lapseError{"it has no owner record in DNS"}
	default:
		return &lapseError{fmt.Sprintf("its owner record in DNS is %q", seen.Record)}
	}
}

// Run implements holding. It reads after one interval: whoever begins to hold the shoot has asked by then. Nobody takes
// back what DNS has given: it runs out, also when an etcd begins. Work that goes on while the shoot is made is not cut
// off by that.
func (d *decided) Run(ctx context.Context, interval time.Duration, _ func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-d.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	select {
	case <-ctx.Done():
	case <-d.clock.After(interval):
		d.guard.Follow(ctx, ownership.Decision, d.decision, d.log)
	}
}
