package ownership

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/transplant-sim/transplant/api/cloud"
)

// ownerRecordTTL is for people who ask a resolver, in seconds; no rule rests on it.
const ownerRecordTTL = 60

// CloudTXT keeps TXT records in the cloud's DNS. It finds the zone of a name once.
type CloudTXT struct {
	Client *cloud.Client

	mu    sync.Mutex
	zones map[string]string // id by record name
}

var _ TXTRecords = &CloudTXT{}

// GetTXT implements TXTRecords.
func (c *CloudTXT) GetTXT(ctx context.Context, name string) (values []string, version string, err error) {
	zone, err := c.zoneOf(ctx, name)
	if err != nil {
		return nil, "", err
	}
	set, err := c.Client.Records(zone).Get(ctx, cloud.RecordTXT, name)
	if cloud.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return set.Values, strconv.FormatInt(set.Version, 10), nil
}

// SetTXT implements TXTRecords.
func (c *CloudTXT) SetTXT(ctx context.Context, name string, values []string, ifVersion string) error {
	zone, err := c.zoneOf(ctx, name)
	if err != nil {
		return err
	}
	condition := cloud.If{Absent: ifVersion == ""}
	if ifVersion != "" {
		if condition.Version, err = strconv.ParseInt(ifVersion, 10, 64); err != nil {
			return fmt.Errorf("parse the version of the record %q: %w", name, err)
		}
	}
	set := &cloud.RecordSet{Name: name, Type: cloud.RecordTXT, TTL: ownerRecordTTL, Values: values}
	_, err = c.Client.Records(zone).Put(ctx, set, condition)
	if cloud.IsConflict(err) || cloud.IsAlreadyExists(err) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// zoneOf finds the zone of a name, and remembers it. Nothing is locked while it asks: a cloud that does not answer one
// shoot shall not hold up the others. Two may ask for the same at once, and find the same.
func (c *CloudTXT) zoneOf(ctx context.Context, name string) (string, error) {
	c.mu.Lock()
	id, known := c.zones[name]
	c.mu.Unlock()
	if known {
		return id, nil
	}
	zone, err := c.Client.ZoneOf(ctx, name)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zones == nil {
		c.zones = map[string]string{}
	}
	c.zones[name] = zone.ID
	return zone.ID, nil
}
