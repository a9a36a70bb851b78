package cloud

import (
	"net/http"
	"slices"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
)

func (s *Server) listRecords(_ *call, w http.ResponseWriter, r *http.Request) error {
	zone := r.PathValue("zone")
	sets, err := look(s, func(v *view) ([]*api.RecordSet, error) {
		if _, err := find[api.Zone](v.state, api.KindZones, zone); err != nil {
			return nil, err
		}
		sets := []*api.RecordSet{}
		for id, row := range v.rows[api.KindRecords] {
			if strings.HasPrefix(id, zone+"/") {
				sets = append(sets, row.(*api.RecordSet))
			}
		}
		return sets, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(sets, func(a, b *api.RecordSet) int {
		return strings.Compare(a.Name+"\x00"+a.Type, b.Name+"\x00"+b.Type)
	})
	return answer(w, map[string]any{"items": sets})
}

func (s *Server) getRecord(c *call, w http.ResponseWriter, r *http.Request) error {
	set, err := look(s, func(v *view) (*api.RecordSet, error) {
		return find[api.RecordSet](v.state, api.KindRecords, recordKey(r))
	})
	if err != nil {
		return err
	}
	return answer(w, set)
}

// recordKey is the id of the record set that a path names, in whatever case it is written.
func recordKey(r *http.Request) string {
	name, _ := domainName(r.PathValue("name"))
	return recordID(r.PathValue("zone"), strings.ToUpper(r.PathValue("type")), name)
}

func condition(r *http.Request) (api.If, error) {
	query := r.URL.Query()
	condition := api.If{Absent: query.Get("ifAbsent") == "true"}
	if query.Has("ifValues") {
		condition.Values = append([]string{}, query["ifValue"]...)
	}
	var err error
	condition.Version, err = ifVersion(r)
	return condition, err
}

func (s *Server) putRecord(c *call, w http.ResponseWriter, r *http.Request) error {
	set := &api.RecordSet{}
	if _, err := readBody(w, r, set); err != nil {
		return s.refuseBefore(c, err)
	}
	condition, err := condition(r)
	if err != nil {
		return s.refuseBefore(c, err)
	}
	set.Name, set.Type = r.PathValue("name"), strings.ToUpper(r.PathValue("type"))
	row, err := s.mutate(c, func(v *view) (change, error) {
		zone, err := find[api.Zone](v.state, api.KindZones, r.PathValue("zone"))
		if err != nil {
			return change{}, err
		}
		if err := admitRecord(v, zone, set); err != nil {
			return change{}, err
		}
		if err := v.checkRecord(c, zone, recordID(zone.ID, set.Type, set.Name), set.Name, set); err != nil {
			return change{}, err
		}
		return putChange(v, zone, set, condition)
	})
	if err != nil {
		return err
	}
	return answer(w, row)
}

func putChange(v *view, zone *api.Zone, set *api.RecordSet, condition api.If) (change, error) {
	id := recordID(zone.ID, set.Type, set.Name)
	set.Meta = api.Meta{ID: id, CreatedAt: v.now.UTC()}
	before, there := v.rows[api.KindRecords][id].(*api.RecordSet)
	if err := check(condition, id, before); err != nil {
		return change{}, err
	}
	wanted := change{id: id, name: set.Name, after: set}
	if there {
		set.CreatedAt = before.CreatedAt
		wanted.before = before
	}
	return wanted, nil
}

func (s *Server) deleteRecord(c *call, w http.ResponseWriter, r *http.Request) error {
	condition, err := condition(r)
	if err != nil {
		return s.refuseBefore(c, err)
	}
	id := recordKey(r)
	_, err = s.mutate(c, func(v *view) (change, error) {
		before, err := find[api.RecordSet](v.state, api.KindRecords, id)
		if err != nil {
			return change{}, err
		}
		zone, err := find[api.Zone](v.state, api.KindZones, r.PathValue("zone"))
		if err != nil {
			return change{}, err
		}
		if err := v.checkRecord(c, zone, id, before.Name, nil); err != nil {
			return change{}, err
		}
		return change{id: id, name: before.Name, before: before}, check(condition, id, before)
	})
	if err != nil {
		return err
	}
	return answer(w, struct{}{})
}
