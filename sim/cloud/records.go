package cloud

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

func zones() kind {
	return kindOf(api.KindZones, "zone", rules[api.Zone]{
		admit: func(v *view, z *api.Zone) error {
			name, ok := domainName(z.Name)
			if !ok {
				return refusal.New(api.CodeInvalid, "InvalidDomainName", "The domain name '%s' is invalid", z.Name)
			}
			z.Name = name
			if z.NegativeTTL <= 0 {
				z.NegativeTTL = 1
			}
			if exists(v.state, api.KindZones, func(other *api.Zone) bool { return other.Name == name }) {
				return refusal.AlreadyExists(api.KindZones, name)
			}
			return nil
		},
		change: func(_ *view, before, after *api.Zone) error {
			if after.Name != before.Name || after.NegativeTTL <= 0 {
				return refusal.Invalid("The name of zone '%s' cannot be changed, and its negative TTL must be positive", before.ID)
			}
			return nil
		},
		release: func(v *view, z *api.Zone) (*api.Zone, error) {
			if len(v.names[z.ID]) > 0 {
				return nil, refusal.New(api.CodeDependencyViolation, "HostedZoneNotEmpty",
					"The zone '%s' has dependencies and cannot be deleted: it contains record sets", z.ID)
			}
			return nil, nil
		},
	})
}

// recordID is the id of a record set. It is not random: zone, type and name are the key.
func recordID(zone, kind, name string) string { return zone + "/" + kind + "/" + name }

func splitRecordID(id string) (zone, name string) {
	zone, rest, _ := strings.Cut(id, "/")
	_, name, _ = strings.Cut(rest, "/")
	return zone, name
}

// domainName is the name in lower case and without a final dot.
func domainName(name string) (string, bool) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	_, ok := dns.IsDomainName(name)
	return name, ok && name != "" && !strings.ContainsAny(name, "/ ")
}

// admitRecord checks and completes a record set that is to be written into the zone.
func admitRecord(v *view, zone *api.Zone, set *api.RecordSet) error {
	name, ok := domainName(set.Name)
	if !ok || (name != zone.Name && !strings.HasSuffix(name, "."+zone.Name)) {
		return refusal.New(api.CodeInvalid, "InvalidChangeBatch", "The name '%s' is invalid: not in zone '%s'", set.Name,
			zone.Name)
	}
	set.Name = name
	if set.TTL < 0 || set.TTL > 1<<31-1 || len(set.Values) == 0 {
		return refusal.New(api.CodeInvalid, "InvalidChangeBatch", "The record set '%s' is invalid: it needs a TTL and values",
			name)
	}
	for _, value := range set.Values {
		if !validValue(set.Type, value) {
			return refusal.New(api.CodeInvalid, "InvalidChangeBatch",
				"The value '%s' is invalid for a record of type '%s'", value, set.Type)
		}
	}
	return checkAlias(v, zone, set)
}

func validValue(kind, value string) bool {
	switch kind {
	case api.RecordA:
		address, err := netip.ParseAddr(value)
		return err == nil && address.Is4()
	case api.RecordAAAA:
		address, err := netip.ParseAddr(value)
		return err == nil && address.Is6()
	case api.RecordCNAME:
		_, ok := domainName(value)
		return ok
	case api.RecordTXT:
		return true
	}
	return false
}

// checkAlias keeps a CNAME alone at its name (RFC 1034, 3.6.2).
func checkAlias(v *view, zone *api.Zone, set *api.RecordSet) error {
	if set.Type == api.RecordCNAME && len(set.Values) > 1 {
		return refusal.New(api.CodeInvalid, "InvalidChangeBatch", "The record set '%s' is invalid: a CNAME has one value",
			set.Name)
	}
	for _, kind := range []string{api.RecordA, api.RecordAAAA, api.RecordCNAME, api.RecordTXT} {
		_, there := v.rows[api.KindRecords][recordID(zone.ID, kind, set.Name)]
		if there && kind != set.Type && (kind == api.RecordCNAME || set.Type == api.RecordCNAME) {
			return refusal.New(api.CodeInvalid, "InvalidChangeBatch",
				"The name '%s' has records of type '%s' and can have none of type '%s' beside them", set.Name, kind, set.Type)
		}
	}
	return nil
}

// check says whether the condition holds for what is there, nil meaning nothing.
func check(condition api.If, id string, there *api.RecordSet) error {
	switch {
	case condition.Absent && there != nil:
		return refusal.AlreadyExists(api.KindRecords, id)
	case condition.Version != 0 && (there == nil || there.Version != condition.Version):
		return refusal.Conflict("The record set '%s' is not at version %d", id, condition.Version)
	case condition.Values != nil && (there == nil || !slices.Equal(there.Values, condition.Values)):
		return refusal.Conflict("The record set '%s' does not have the values expected", id)
	}
	return nil
}

func (s *Server) listRecords(_ *call, w http.ResponseWriter, r *http.Request) error {
	zone := r.PathValue("zone")
	sets, err := look(s.db, func(v *view) ([]*api.RecordSet, error) {
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
	set, err := look(s.db, func(v *view) (*api.RecordSet, error) {
		return find[api.RecordSet](v.state, api.KindRecords, recordKey(r))
	})
	return outcome(w, set, err)
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
		return s.db.refuseBefore(c, err)
	}
	condition, err := condition(r)
	if err != nil {
		return s.db.refuseBefore(c, err)
	}
	set.Name, set.Type = r.PathValue("name"), strings.ToUpper(r.PathValue("type"))
	row, err := s.db.mutate(c, func(v *view) (change, error) {
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
	return outcome(w, row, err)
}

func putChange(v *view, zone *api.Zone, set *api.RecordSet, condition api.If) (change, error) {
	id := recordID(zone.ID, set.Type, set.Name)
	before, _ := v.rows[api.KindRecords][id].(*api.RecordSet)
	if err := check(condition, id, before); err != nil {
		return change{}, err
	}
	wanted := v.replace(api.KindRecords, id, set)
	wanted.name = set.Name
	return wanted, nil
}

func (s *Server) deleteRecord(c *call, w http.ResponseWriter, r *http.Request) error {
	condition, err := condition(r)
	if err != nil {
		return s.db.refuseBefore(c, err)
	}
	id := recordKey(r)
	_, err = s.db.mutate(c, func(v *view) (change, error) {
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
	return outcome(w, struct{}{}, err)
}
