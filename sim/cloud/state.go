package cloud

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
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

// find is one row as its own type.
func find[T any](s *state, kind, id string) (*T, error) {
	row, there := s.rows[kind][id]
	if !there {
		return nil, notFound(kind, id)
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
