package cloud

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// kind is what the server must know of one kind of resource.
type kind struct {
	name   string
	prefix string // of the random ids
	hidden bool   // listed for nobody but an admin or an observer
	make   func() api.Resource

	// admit checks and completes a new object, change a new version of one, release says what is left after deletion.
	admit   func(*view, api.Resource) error
	change  func(v *view, before, after api.Resource) error
	release func(*view, api.Resource) (api.Resource, error)
}

// view is the state at the time of one call.
type view struct {
	*state
	now       time.Time
	bootDelay time.Duration
}

// kinds is the catalogue. Kinds without admit are written by handlers of their own.
func kinds() map[string]kind {
	catalogue := map[string]kind{}
	for _, k := range []kind{
		networks(), subnets(), routers(), securityGroups(), keyPairs(), loadBalancers(),
		machines(), volumes(), zones(), buckets(),
		{name: api.KindRecords, make: func() api.Resource { return &api.RecordSet{} }},
		{name: api.KindObjects, make: func() api.Resource { return &storedObject{} }},
		{name: api.KindFences, make: func() api.Resource { return &api.Fence{} }},
		{name: api.KindFaults, make: func() api.Resource { return &api.Fault{} }},
		{name: api.KindPolicies, make: func() api.Resource { return &api.Policy{} }},
	} {
		catalogue[k.name] = k
	}
	return catalogue
}

// rules are a kind's three functions in the kind's own type. Each may be nil: everything is admitted, nothing can be
// changed, nothing is left.
type rules[T any] struct {
	admit   func(*view, *T) error
	change  func(v *view, before, after *T) error
	release func(*view, *T) (*T, error)
}

// kindOf turns typed rules into a kind.
func kindOf[T any, P interface {
	*T
	api.Resource
}](name, prefix string, r rules[T]) kind {
	k := kind{name: name, prefix: prefix, make: func() api.Resource { return P(new(T)) }}
	k.admit = func(v *view, object api.Resource) error {
		if r.admit == nil {
			return nil
		}
		return r.admit(v, any(object).(*T))
	}
	k.change = func(v *view, before, after api.Resource) error {
		if r.change == nil {
			return refuse(api.CodeInvalid, "UnsupportedOperation", "A %s cannot be modified", singular(name))
		}
		return r.change(v, any(before).(*T), any(after).(*T))
	}
	k.release = func(v *view, object api.Resource) (api.Resource, error) {
		if r.release == nil {
			return nil, nil
		}
		left, err := r.release(v, any(object).(*T))
		if err != nil || left == nil {
			return nil, err
		}
		return P(left), nil
	}
	return k
}

// newID draws an id such as net-0f3a….
func newID(prefix string) string { return prefix + "-" + randomHex(9) }

func randomHex(bytes int) string {
	content := make([]byte, bytes)
	rand.Read(content)
	return hex.EncodeToString(content)
}
