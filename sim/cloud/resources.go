package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

func strictUnmarshal(content []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// create makes a new object, with a new id each time.
func (s *Server) create(c *call, w http.ResponseWriter, r *http.Request) error {
	k := s.db.state.kinds[c.kind]
	object := k.make()
	request, err := readBody(w, r, object)
	if err != nil {
		return s.db.refuseBefore(c, err)
	}
	token := r.URL.Query().Get("clientToken")
	row, err := s.db.mutate(c, func(v *view) (change, error) {
		if used, ok := v.tokens[tokenUse{c.identity.name, c.kind, token}]; ok && token != "" {
			return replay(v, c, used, request)
		}
		*object.Metadata() = api.Meta{CreatedAt: v.now.UTC()}
		if err := k.admit(v, object); err != nil {
			return change{}, err
		}
		id := newID(k.prefix)
		if c.kind == api.KindBuckets {
			id = object.(*api.Bucket).Name
		}
		object.Metadata().ID = id
		return change{id: id, name: nameOf(object), after: object, clientToken: token, request: request}, nil
	})
	if err != nil {
		return err
	}
	return answer(w, present(c, row, s.db.clock.Now()))
}

// replay answers a creation with a client token used before.
func replay(v *view, c *call, used tokenResult, request string) (change, error) {
	row, there := v.rows[c.kind][used.id]
	if used.request != request || !there {
		return change{}, refusal.New(api.CodeConflict, "IdempotentParameterMismatch",
			"The client token has been used for another %s, or the one it made ('%s') is gone", refusal.Singular(c.kind),
			used.id)
	}
	return change{id: used.id, name: nameOf(row), after: row, replayed: true}, nil
}

func (s *Server) get(c *call, w http.ResponseWriter, _ *http.Request) error {
	row, err := look(s.db, func(v *view) (api.Resource, error) {
		row, there := v.rows[c.kind][c.id]
		if !there {
			return nil, refusal.NotFound(c.kind, c.id)
		}
		return row, nil
	})
	if err != nil {
		return err
	}
	return answer(w, present(c, row, s.db.clock.Now()))
}

func (s *Server) list(c *call, w http.ResponseWriter, r *http.Request) error {
	if s.db.state.kinds[c.kind].hidden && !c.identity.may(RoleObserver) {
		return refusal.Standard(api.CodeUnauthorized, c.kind)
	}
	rows, err := look(s.db, func(v *view) ([]api.Resource, error) { return v.list(c.kind), nil })
	if err != nil {
		return err
	}
	query, now := r.URL.Query(), s.db.clock.Now()
	items := []any{}
	for _, row := range rows {
		if m, ok := row.(*api.Machine); ok && m.State == api.MachineTerminated {
			continue
		}
		if matches(row, query.Get("name"), query["tag"]) {
			item := present(c, row, now)
			if m, ok := item.(*api.Machine); ok {
				m.UserData = "" // a listing would be as large as all user data together
			}
			items = append(items, item)
		}
	}
	return answer(w, map[string]any{"items": items})
}

func matches(row api.Resource, name string, tags []string) bool {
	if name != "" && nameOf(row) != name {
		return false
	}
	tagged, _ := row.(api.Tagged)
	for _, tag := range tags {
		key, value, _ := strings.Cut(tag, "=")
		if tagged == nil {
			return false
		}
		if found, there := tagged.TagMap()[key]; !there || found != value {
			return false
		}
	}
	return true
}

func (s *Server) update(c *call, w http.ResponseWriter, r *http.Request) error {
	k := s.db.state.kinds[c.kind]
	object := k.make()
	if _, err := readBody(w, r, object); err != nil {
		return s.db.refuseBefore(c, err)
	}
	version, err := ifVersion(r)
	if err != nil {
		return s.db.refuseBefore(c, err)
	}
	row, err := s.db.mutate(c, func(v *view) (change, error) {
		before, there := v.rows[c.kind][c.id]
		if !there {
			return change{}, refusal.NotFound(c.kind, c.id)
		}
		if version != 0 && before.Metadata().Version != version {
			return change{}, refusal.Conflict("The %s '%s' is at version %d, not %d", refusal.Singular(c.kind), c.id,
				before.Metadata().Version, version)
		}
		*object.Metadata() = *before.Metadata()
		if err := k.change(v, before, object); err != nil {
			return change{}, err
		}
		return change{id: c.id, name: nameOf(object), before: before, after: object}, nil
	})
	if err != nil {
		return err
	}
	return answer(w, present(c, row, s.db.clock.Now()))
}

func ifVersion(r *http.Request) (int64, error) {
	text := r.URL.Query().Get("ifVersion")
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, refusal.Invalid("Version '%s' is invalid", text)
	}
	return version, nil
}

func (s *Server) remove(c *call, w http.ResponseWriter, _ *http.Request) error {
	_, err := s.db.mutate(c, func(v *view) (_ change, err error) {
		before, there := v.rows[c.kind][c.id]
		if !there {
			return change{}, refusal.NotFound(c.kind, c.id)
		}
		wanted := change{id: c.id, name: nameOf(before), before: before}
		if release := v.kinds[c.kind].release; release != nil {
			wanted.after, err = release(v, before)
		}
		return wanted, err
	})
	return outcome(w, struct{}{}, err)
}

func (s *Server) reboot(c *call, w http.ResponseWriter, _ *http.Request) error {
	row, err := s.db.mutate(c, func(v *view) (change, error) {
		before, err := find[api.Machine](v.state, api.KindMachines, c.id)
		if err != nil {
			return change{}, err
		}
		after, err := reboot(v, before)
		if err != nil {
			return change{}, err
		}
		return change{id: c.id, name: before.Name, before: before, after: after}, nil
	})
	if err != nil {
		return err
	}
	return answer(w, present(c, row, s.db.clock.Now()))
}

func nameOf(row api.Resource) string {
	if named, ok := row.(api.Named); ok {
		return named.ResourceName()
	}
	return ""
}

// present is a row as this caller may see it, at this moment.
func present(c *call, row api.Resource, now time.Time) any {
	switch row := row.(type) {
	case *storedObject:
		return &row.Object
	case *api.Machine:
		shown := *current(row, now)
		if !c.identity.may(RoleNodes) {
			shown.UserData = ""
		}
		return &shown
	case nil:
		panic(fmt.Sprintf("present nothing to %s %s", c.verb, c.kind))
	default:
		return row
	}
}
