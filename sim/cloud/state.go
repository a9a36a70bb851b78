package cloud

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// state is the fold of the ledger. Rows are never changed once they are in, only replaced.
type state struct {
	kinds  map[string]kind
	rows   map[string]map[string]api.Resource // by kind and id
	tokens map[tokenUse]tokenResult           // client tokens of creations
	keys   map[string][]string                // keys of each bucket's objects, sorted
	names  map[string]map[string]int          // per zone: how many record sets have this name or one below it
	made   map[rowKey]string                  // the shoot in whose scope each row was created; empty for none
}

type rowKey struct{ kind, id string }

type tokenUse struct{ identity, kind, token string }

type tokenResult struct{ id, request string }

func newState() *state {
	s := &state{
		kinds:  kinds(),
		rows:   map[string]map[string]api.Resource{},
		tokens: map[tokenUse]tokenResult{},
		keys:   map[string][]string{},
		names:  map[string]map[string]int{},
		made:   map[rowKey]string{},
	}
	for name := range s.kinds {
		s.rows[name] = map[string]api.Resource{}
	}
	return s
}

// apply folds one entry.
func (s *state) apply(entry *api.LedgerEntry) error {
	if !entry.Took() {
		return nil
	}
	kind, known := s.kinds[entry.Kind]
	if !known {
		return fmt.Errorf("apply entry %d: unknown kind %q", entry.Seq, entry.Kind)
	}
	var after api.Resource
	if len(entry.Object) > 0 {
		after = kind.make()
		if err := json.Unmarshal(entry.Object, after); err != nil {
			return fmt.Errorf("apply entry %d: %w", entry.Seq, err)
		}
		after.Metadata().Version = entry.Seq
	}
	key := rowKey{entry.Kind, entry.ID}
	if _, there := s.rows[entry.Kind][entry.ID]; !there {
		s.made[key] = entry.Shoot
	}
	s.put(entry.Kind, entry.ID, after)
	if after == nil {
		delete(s.made, key)
	}
	if entry.ClientToken != "" {
		s.tokens[tokenUse{entry.Identity, entry.Kind, entry.ClientToken}] = tokenResult{id: entry.ID, request: entry.Request}
	}
	if entry.Scope.Epoch > s.epoch(entry.Shoot) {
		s.put(api.KindFences, entry.Shoot, &api.Fence{Meta: api.Meta{ID: entry.Shoot, Version: entry.Seq},
			Epoch: entry.Scope.Epoch})
	}
	return nil
}

// put sets or, with nil, removes a row and keeps the indexes in step.
func (s *state) put(kind, id string, after api.Resource) {
	_, existed := s.rows[kind][id]
	if after == nil {
		delete(s.rows[kind], id)
	} else {
		s.rows[kind][id] = after
	}
	if existed == (after != nil) {
		return
	}
	switch kind {
	case api.KindObjects:
		s.indexKey(id, after != nil)
	case api.KindRecords:
		s.indexName(id, after != nil)
	}
}

func (s *state) indexKey(id string, there bool) {
	bucket, key, _ := strings.Cut(id, "/")
	at, _ := slices.BinarySearch(s.keys[bucket], key)
	if there {
		s.keys[bucket] = slices.Insert(s.keys[bucket], at, key)
	} else {
		s.keys[bucket] = slices.Delete(s.keys[bucket], at, at+1)
	}
}

// indexName counts the name and all names above it, so that the DNS server can distinguish an empty name from none.
func (s *state) indexName(id string, there bool) {
	zone, name := splitRecordID(id)
	if s.names[zone] == nil {
		s.names[zone] = map[string]int{}
	}
	for name != "" {
		if there {
			s.names[zone][name]++
		} else if s.names[zone][name]--; s.names[zone][name] == 0 {
			delete(s.names[zone], name)
		}
		_, name, _ = strings.Cut(name, ".")
	}
}

// epoch is the highest one seen of the shoot.
func (s *state) epoch(shoot string) int64 {
	if fence, ok := s.rows[api.KindFences][shoot].(*api.Fence); ok {
		return fence.Epoch
	}
	return 0
}

// list is all rows of a kind in order of creation.
func (s *state) list(kind string) []api.Resource {
	rows := make([]api.Resource, 0, len(s.rows[kind]))
	for _, row := range s.rows[kind] {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b api.Resource) int {
		x, y := a.Metadata(), b.Metadata()
		if c := x.CreatedAt.Compare(y.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(x.ID, y.ID)
	})
	return rows
}

// blobsInUse is the keys of all contents that an object has.
func (s *state) blobsInUse() map[string]bool {
	used := map[string]bool{}
	for _, row := range s.rows[api.KindObjects] {
		used[row.(*storedObject).Blob] = true
	}
	return used
}

// find is one row as its own type.
func find[T any](s *state, kind, id string) (*T, error) {
	row, there := s.rows[kind][id]
	if !there {
		return nil, refusal.NotFound(kind, id)
	}
	return any(row).(*T), nil
}

// any says whether a row of the kind fulfils the condition.
func exists[T any](s *state, kind string, condition func(*T) bool) bool {
	for _, row := range s.rows[kind] {
		if condition(any(row).(*T)) {
			return true
		}
	}
	return false
}

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
	balancers netip.Prefix // the addresses of load balancers; the zero value for those that lead nowhere
}

// replace is the change that puts a row where there may be one, and keeps the time when the first was created.
func (v *view) replace(kind, id string, after api.Resource) change {
	*after.Metadata() = api.Meta{ID: id, CreatedAt: v.now.UTC()}
	before, there := v.rows[kind][id]
	if there {
		after.Metadata().CreatedAt = before.Metadata().CreatedAt
	}
	return change{id: id, before: before, after: after}
}

// kinds is the catalogue. Kinds without admit are written by handlers of their own, but for the deletion of policies.
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
			return refusal.New(api.CodeInvalid, "UnsupportedOperation", "A %s cannot be modified", refusal.Singular(name))
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
