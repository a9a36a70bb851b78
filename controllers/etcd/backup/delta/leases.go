package delta

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// leaseTTL is assumed of a lease that is gone before it could be asked about, in seconds. Its keys are about to be
// deleted; should they come back by a restore, they expire after this.
const leaseTTL = 3600

// leaseCacheSize bounds the cache; Kubernetes makes about one lease a minute.
const leaseCacheSize = 4096

// LeaseCache remembers the granted time to live of leases, in seconds. A watch has only their ids.
type LeaseCache struct{ ttl map[int64]int64 }

// Of returns the leases that the events attach keys to.
func (c *LeaseCache) Of(ctx context.Context, client *clientv3.Client, events []*mvccpb.Event) map[int64]int64 {
	var leases map[int64]int64
	for _, event := range events {
		id := event.Kv.Lease
		if event.Type != mvccpb.PUT || id == 0 {
			continue
		}
		if leases == nil {
			leases = map[int64]int64{}
		}
		if _, known := leases[id]; !known {
			leases[id] = c.lookUp(ctx, client, id)
		}
	}
	return leases
}

func (c *LeaseCache) lookUp(ctx context.Context, client *clientv3.Client, id int64) int64 {
	if ttl, known := c.ttl[id]; known {
		return ttl
	}
	answer, err := client.TimeToLive(ctx, clientv3.LeaseID(id))
	if err != nil || answer.GrantedTTL <= 0 {
		return leaseTTL
	}
	if c.ttl == nil || len(c.ttl) >= leaseCacheSize {
		c.ttl = map[int64]int64{}
	}
	c.ttl[id] = answer.GrantedTTL
	return answer.GrantedTTL
}
