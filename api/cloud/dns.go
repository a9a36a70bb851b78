package cloud

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Zone is a DNS zone that the cloud's DNS server answers for. Its name is unique.
type Zone struct {
	Meta
	Name string `json:"name"`
	// seconds a resolver may remember that a name is absent; default 1
	NegativeTTL int64             `json:"negativeTTL,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// TagMap makes the zone findable.
func (z *Zone) TagMap() map[string]string { return z.Tags }

// ResourceName makes the zone findable.
func (z *Zone) ResourceName() string { return z.Name }

// Record types the cloud knows.
const (
	RecordA     = "A"
	RecordAAAA  = "AAAA"
	RecordCNAME = "CNAME"
	RecordTXT   = "TXT"
)

// RecordSet is all values of one name and type in a zone. The name is absolute, without a final dot; the label "*"
// matches what nothing else does.
type RecordSet struct {
	Meta
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	TTL    int64    `json:"ttl"` // seconds
	Values []string `json:"values"`
}

// ResourceName makes the record set findable.
func (r *RecordSet) ResourceName() string { return r.Name }

// If is what must hold for a write to happen, checked and written as one step (docs/ownership.md#spec-9-1). The zero
// value asks for nothing. A write whose condition fails answers Conflict, or AlreadyExists for Absent.
type If struct {
	Absent  bool     // the record set does not exist
	Version int64    // it has this version
	Values  []string // it has exactly these values, in this order; nil asks for nothing
}

func (i If) query() url.Values {
	query := url.Values{}
	if i.Absent {
		query.Set("ifAbsent", "true")
	}
	if i.Version != 0 {
		query.Set("ifVersion", strconv.FormatInt(i.Version, 10))
	}
	if i.Values != nil {
		query.Set("ifValues", "")
		for _, value := range i.Values {
			query.Add("ifValue", value)
		}
	}
	return query
}

// Records reads and writes the record sets of one zone. Every read is answered by the primary and sees every write
// acknowledged before it was asked.
type Records struct {
	client *Client
	zone   string
}

// Records is the record sets of the zone with this id.
func (c *Client) Records(zoneID string) Records { return Records{client: c, zone: zoneID} }

func (r Records) path(kind, name string) []string {
	return []string{KindZones, r.zone, KindRecords, kind, name}
}

// Get reads one record set.
func (r Records) Get(ctx context.Context, kind, name string) (*RecordSet, error) {
	return call[RecordSet](ctx, r.client, request{method: http.MethodGet, path: r.path(kind, name)})
}

// List reads all record sets of the zone, by name and type.
func (r Records) List(ctx context.Context) ([]RecordSet, error) {
	return listOf[RecordSet](ctx, r.client,
		request{method: http.MethodGet, path: []string{KindZones, r.zone, KindRecords}})
}

// Put creates the record set or replaces its values and TTL, if the condition holds.
func (r Records) Put(ctx context.Context, set *RecordSet, condition If) (*RecordSet, error) {
	return call[RecordSet](ctx, r.client, request{method: http.MethodPut, path: r.path(set.Type, set.Name),
		query: condition.query(), body: set})
}

// Delete removes the record set, if the condition holds.
func (r Records) Delete(ctx context.Context, kind, name string, condition If) error {
	return r.client.do(ctx, request{method: http.MethodDelete, path: r.path(kind, name), query: condition.query()}, nil)
}

// ZoneOf finds the zone with the longest name that the name of a record ends in.
func (c *Client) ZoneOf(ctx context.Context, record string) (*Zone, error) {
	zones, err := c.Zones().List(ctx, Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the DNS zones: %w", err)
	}
	best := &Zone{}
	for i, zone := range zones {
		if (record == zone.Name || strings.HasSuffix(record, "."+zone.Name)) && len(zone.Name) > len(best.Name) {
			best = &zones[i]
		}
	}
	if best.Name == "" {
		return nil, fmt.Errorf("find the DNS zone of %q: none of %d zones has it", record, len(zones))
	}
	return best, nil
}
