package cloud

import (
	"net/http"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/faultbook"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// listRows answers all rows of a kind that has no names.
func (s *Server) listRows(c *call, w http.ResponseWriter, _ *http.Request) error {
	rows, err := look(s.db, func(v *view) ([]api.Resource, error) { return v.list(c.kind), nil })
	return outcome(w, map[string]any{"items": rows}, err)
}

// fence raises a shoot's epoch; mutate refuses to lower it, as it refuses every call of an older epoch.
func (s *Server) fence(c *call, w http.ResponseWriter, r *http.Request) error {
	wanted := &api.Fence{}
	if _, err := readBody(w, r, wanted); err != nil {
		return s.db.refuseBefore(c, err)
	}
	if wanted.Epoch <= 0 {
		return s.db.refuseBefore(c, refusal.Invalid("Epoch %d is invalid", wanted.Epoch))
	}
	c.scope = api.Scope{Shoot: c.id, Epoch: wanted.Epoch}
	row, err := s.db.mutate(c, func(v *view) (change, error) { return v.replace(c.kind, c.id, wanted), nil })
	return outcome(w, row, err)
}

func (s *Server) listFaults(_ *call, w http.ResponseWriter, _ *http.Request) error {
	return answer(w, map[string]any{"items": s.db.faults.List()})
}

func (s *Server) setFault(c *call, w http.ResponseWriter, r *http.Request) error {
	fault := &api.Fault{}
	if _, err := readBody(w, r, fault); err != nil {
		return s.db.refuseBefore(c, err)
	}
	if err := faultbook.CheckEffect(fault.Effect); err != nil {
		return s.db.refuseBefore(c, err)
	}
	fault.Matched, fault.Hits = 0, 0
	_, err := s.db.mutate(c, func(v *view) (change, error) {
		fault.Meta = api.Meta{ID: c.id, CreatedAt: v.now.UTC()}
		before := v.rows[api.KindFaults][c.id]
		s.db.faults.Set(*fault, s.db.clock)
		return change{id: c.id, before: before, after: fault}, nil
	})
	return outcome(w, fault, err)
}

func (s *Server) healFault(c *call, w http.ResponseWriter, _ *http.Request) error {
	var healed api.Fault
	_, err := s.db.mutate(c, func(v *view) (change, error) {
		before, there := v.rows[api.KindFaults][c.id]
		if !there {
			return change{}, refusal.NotFound(api.KindFaults, c.id)
		}
		healed, _ = s.db.faults.Heal(c.id)
		return change{id: c.id, before: before}, nil
	})
	return outcome(w, healed, err)
}

func (s *Server) setPolicy(c *call, w http.ResponseWriter, r *http.Request) error {
	wanted := &api.Policy{}
	if _, err := readBody(w, r, wanted); err != nil {
		return s.db.refuseBefore(c, err)
	}
	shoot, _ := partsOf(c.id)
	if bucket, is := api.PolicyBucket(c.id); shoot == "" && (!is || !bucketName.MatchString(bucket)) {
		return s.db.refuseBefore(c,
			refusal.Invalid("The policy's id '%s' is invalid: want shoot--<project>--<name>, or bucket--<name>", c.id))
	}
	row, err := s.db.mutate(c, func(v *view) (change, error) { return v.replace(c.kind, c.id, wanted), nil })
	return outcome(w, row, err)
}

// bound is the seed that a policy names: that of a shoot, or of a bucket. It is empty if none may take the shoot over.
func (v *view) bound(id string) (seed string, known bool) {
	policy, known := v.rows[api.KindPolicies][id].(*api.Policy)
	if !known {
		return "", false
	}
	return policy.Bound, true
}

// technicalID of a shoot, and back: both parts are empty for what is none.
func technicalID(shoot, project string) string { return "shoot--" + project + "--" + shoot }

func partsOf(technicalID string) (shoot, project string) {
	rest, is := strings.CutPrefix(technicalID, "shoot--")
	project, shoot, two := strings.Cut(rest, "--")
	if !is || !two {
		return "", ""
	}
	return shoot, project
}
