package world

import "context"

// Outside is a World in which control planes can run outside any seed.
type Outside interface {
	// RestoreOutside has an operator run the control plane of a shoot outside any seed. It returns when that has begun;
	// RefusedOutside if it does not begin.
	RestoreOutside(ctx context.Context, shoot string) error
}

// RefusedOutside says why a control plane does not begin to run outside any seed.
type RefusedOutside struct {
	Why   string
	Owned bool // somebody else runs it, or may
}

func (r RefusedOutside) Error() string { return r.Why }
