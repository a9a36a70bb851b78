package cloud

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	api "github.com/transplant-sim/transplant/api/cloud"
)

func zones() kind {
	return kindOf(api.KindZones, "zone", rules[api.Zone]{
		admit: func(v *view, z *api.Zone) error {
			name, ok := domainName(z.Name)
			if !ok {
				return refuse(api.CodeInvalid, "InvalidDomainName", "The domain name '%s' is invalid", z.Name)
			}
			z.Name = name
			if z.NegativeTTL <= 0 {
				z.NegativeTTL = 1
			}
			if exists(v.state, api.KindZones, func(other *api.Zone) bool { return other.Name == name }) {
				return alreadyExists(api.KindZones, name)
			}
			return nil
		},
		change: func(_ *view, before, after *api.Zone) error {
			if after.Name != before.Name || after.NegativeTTL <= 0 {
				return invalid("The name of zone '%s' cannot be changed, and its negative TTL must be positive", before.ID)
			}
			return nil
		},
		release: func(v *view, z *api.Zone) (*api.Zone, error) {
			if len(v.names[z.ID]) > 0 {
				return nil, refuse(api.CodeDependencyViolation, "HostedZoneNotEmpty",
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
		return refuse(api.CodeInvalid, "InvalidChangeBatch", "The name '%s' is invalid: not in zone '%s'", set.Name,
			zone.Name)
	}
	set.Name = name
	if set.TTL < 0 || set.TTL > 1<<31-1 || len(set.Values) == 0 {
		return refuse(api.CodeInvalid, "InvalidChangeBatch", "The record set '%s' is invalid: it needs a TTL and values",
			name)
	}
	for _, value := range set.Values {
		if !validValue(set.Type, value) {
			return refuse(api.CodeInvalid, "InvalidChangeBatch", "The value '%s' is invalid for a record of type '%s'", value,
				set.Type)
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
		return refuse(api.CodeInvalid, "InvalidChangeBatch", "The record set '%s' is invalid: a CNAME has one value",
			set.Name)
	}
	for _, kind := range []string{api.RecordA, api.RecordAAAA, api.RecordCNAME, api.RecordTXT} {
		_, there := v.rows[api.KindRecords][recordID(zone.ID, kind, set.Name)]
		if there && kind != set.Type && (kind == api.RecordCNAME || set.Type == api.RecordCNAME) {
			return refuse(api.CodeInvalid, "InvalidChangeBatch",
				"The name '%s' has records of type '%s' and can have none of type '%s' beside them", set.Name, kind, set.Type)
		}
	}
	return nil
}

// check says whether the condition holds for what is there, nil meaning nothing.
func check(condition api.If, id string, there *api.RecordSet) error {
	switch {
	case condition.Absent && there != nil:
		return alreadyExists(api.KindRecords, id)
	case condition.Version != 0 && (there == nil || there.Version != condition.Version):
		return conflict("The record set '%s' is not at version %d", id, condition.Version)
	case condition.Values != nil && (there == nil || !slices.Equal(there.Values, condition.Values)):
		return conflict("The record set '%s' does not have the values expected", id)
	}
	return nil
}
