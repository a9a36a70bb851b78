package address

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/netip"
	"syscall"
)

// claimPort on a slot's supervisor address is listened on by whoever owns the slot.
const claimPort = 6440

// ErrNoSlot is returned when every slot of the machine is taken.
var ErrNoSlot = errors.New("every address slot of this machine is taken")

// ErrSlotTaken is returned when the slot asked for is taken.
var ErrSlotTaken = errors.New("the address slot is taken by another landscape")

// Claim is the ownership of a slot.
//
// It is a listening socket rather than a lock file: addresses belong to the machine (or the network namespace), and so
// does the socket, whatever home folder or user a landscape has; and the kernel takes it back when its owner dies.
type Claim struct {
	Slot Slot
	// Passed is why the first slot that no landscape has was passed over: a *TakenError for each address that somebody
	// else holds there. Nil when none was.
	Passed   error
	listener net.Listener
}

// Order is one in which slots are tried.
type Order iter.Seq[Slot]

// FirstOnes begins with the first slot.
func FirstOnes(yield func(Slot) bool) {
	for slot := Slot(0); slot < Slots && yield(slot); slot++ {
	}
}

// LastOnes begins with the last slot. It is for landscapes that are bound to their slot for longer than they run:
// others hardly ever get there.
func LastOnes(yield func(Slot) bool) {
	for slot := Slot(Slots - 1); slot >= 0 && yield(slot); slot-- {
	}
}

// Take claims the first slot of the order that is free, and in which nobody else holds any of the endpoints. When there
// is none, those that are taken in the first slot of no landscape are named, each a *TakenError.
func Take(ctx context.Context, order Order, endpoints func(Slot) ([]Endpoint, error)) (*Claim, error) {
	var claim *Claim
	var occupied []Endpoint
	err := settled(ctx, func() (_ bool, err error) {
		claim, occupied, err = takeOnce(order, endpoints)
		return claim != nil || len(occupied) == 0, err
	})
	switch {
	case err != nil:
		return nil, err
	case claim != nil:
		claim.Passed = takenErrors(occupied)
		return claim, nil
	case len(occupied) > 0:
		return nil, fmt.Errorf(
			"find a free slot: %w, and not by landscapes only: end who holds these, or everything like them:\n%w", ErrNoSlot,
			takenErrors(occupied))
	}
	return nil, fmt.Errorf("find a free slot: %w: end one of the %d landscapes with \"transplant down\"", ErrNoSlot, Slots)
}

// takeOnce goes through all slots, and gives the endpoints that somebody else holds in the first one that no landscape
// has.
func takeOnce(order Order, endpoints func(Slot) ([]Endpoint, error)) (*Claim, []Endpoint, error) {
	var occupied []Endpoint
	for slot := range order {
		claim, err := TakeSlot(slot)
		if errors.Is(err, ErrSlotTaken) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		wanted, err := endpoints(claim.Slot)
		var taken []Endpoint
		if err == nil {
			taken, err = takenOf(wanted)
		}
		if err == nil && len(taken) == 0 {
			return claim, occupied, nil
		}
		if err := errors.Join(err, claim.Release()); err != nil {
			return nil, nil, err
		}
		if occupied == nil {
			occupied = taken
		}
	}
	return nil, occupied, nil
}

// Check says whether there is such a slot.
func (s Slot) Check() error {
	if s < 0 || s >= Slots {
		return fmt.Errorf("claim slot %d: there are slots 0 to %d", s, Slots-1)
	}
	return nil
}

// TakeSlot claims one slot.
func TakeSlot(slot Slot) (*Claim, error) {
	if err := slot.Check(); err != nil {
		return nil, err
	}
	address := netip.AddrPortFrom(slot.Supervisor(), claimPort)
	listener, err := net.Listen("tcp", address.String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("claim slot %d: %w: %s is in use", slot, ErrSlotTaken, address)
	}
	if err != nil {
		return nil, fmt.Errorf("claim slot %d: %w", slot, err)
	}
	return &Claim{Slot: slot, listener: listener}, nil
}

// Release gives the slot back.
func (c *Claim) Release() error { return c.listener.Close() }
