package cloud

import (
	"net/http"

	api "github.com/transplant-sim/transplant/api/cloud"
)

func (s *Server) listFences(_ *call, w http.ResponseWriter, _ *http.Request) error {
	rows, err := look(s, func(v *view) ([]api.Resource, error) { return v.list(api.KindFences), nil })
	if err != nil {
		return err
	}
	return answer(w, map[string]any{"items": rows})
}

// fence raises a shoot's epoch; mutate refuses to lower it, as it refuses every call of an older epoch.
func (s *Server) fence(c *call, w http.ResponseWriter, r *http.Request) error {
	wanted := &api.Fence{}
	if _, err := readBody(w, r, wanted); err != nil {
		return s.refuseBefore(c, err)
	}
	if wanted.Epoch <= 0 {
		return s.refuseBefore(c, invalid("Epoch %d is invalid", wanted.Epoch))
	}
	c.scope = api.Scope{Shoot: c.id, Epoch: wanted.Epoch}
	row, err := s.mutate(c, func(v *view) (change, error) {
		wanted.Meta = api.Meta{ID: c.id, CreatedAt: v.now.UTC()}
		result := change{id: c.id, after: wanted}
		if before, there := v.rows[api.KindFences][c.id]; there {
			wanted.CreatedAt = before.Metadata().CreatedAt
			result.before = before
		}
		return result, nil
	})
	if err != nil {
		return err
	}
	return answer(w, row)
}

func (s *Server) listFaults(_ *call, w http.ResponseWriter, _ *http.Request) error {
	return answer(w, map[string]any{"items": s.faults.list()})
}

func (s *Server) setFault(c *call, w http.ResponseWriter, r *http.Request) error {
	fault := &api.Fault{}
	if _, err := readBody(w, r, fault); err != nil {
		return s.refuseBefore(c, err)
	}
	if err := checkEffect(fault.Effect); err != nil {
		return s.refuseBefore(c, err)
	}
	fault.Matched, fault.Hits = 0, 0
	_, err := s.mutate(c, func(v *view) (change, error) {
		fault.Meta = api.Meta{ID: c.id, CreatedAt: v.now.UTC()}
		before := v.rows[api.KindFaults][c.id]
		s.faults.set(*fault, s.clock)
		return change{id: c.id, before: before, after: fault}, nil
	})
	if err != nil {
		return err
	}
	return answer(w, fault)
}

func checkEffect(e api.Effect) error {
	set := 0
	for _, there := range []bool{e.Error != nil, e.Delay != nil, e.Throttle != nil, e.Quota != nil, e.Drop != "",
		e.BytesPerSecond != 0, e.Damage, e.Missing} {
		if there {
			set++
		}
	}
	switch {
	case set != 1:
		return invalid("effect: exactly one field must be set, not %d", set)
	case e.Error != nil && !e.Error.Code.Known():
		return invalid("effect.error.code: '%s' is unknown", e.Error.Code)
	case e.Delay != nil && e.Delay.Duration < 0:
		return invalid("effect.delay: '%s' is negative", e.Delay.Duration)
	case e.Throttle != nil && (e.Throttle.PerSecond < 0 || e.Throttle.Burst < 0):
		return invalid("effect.throttle: rate and burst must not be negative")
	case e.Quota != nil && *e.Quota < 0:
		return invalid("effect.quota: %d is negative", *e.Quota)
	case e.Drop != "" && e.Drop != api.DropRequest && e.Drop != api.DropAnswer:
		return invalid("effect.drop: '%s' is neither '%s' nor '%s'", e.Drop, api.DropRequest, api.DropAnswer)
	case e.BytesPerSecond < 0:
		return invalid("effect.bytesPerSecond: %d is negative", e.BytesPerSecond)
	}
	return nil
}

func (s *Server) healFault(c *call, w http.ResponseWriter, _ *http.Request) error {
	var healed api.Fault
	_, err := s.mutate(c, func(v *view) (change, error) {
		before, there := v.rows[api.KindFaults][c.id]
		if !there {
			return change{}, notFound(api.KindFaults, c.id)
		}
		healed, _ = s.faults.heal(c.id)
		return change{id: c.id, before: before}, nil
	})
	if err != nil {
		return err
	}
	return answer(w, healed)
}
