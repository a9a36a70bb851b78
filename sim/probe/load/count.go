package load

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Count counts what the load's namespace holds, the way of users, and records it: what Data says can be compared
// with it. Where the API server says how much is left behind the first object, nothing more is read.
func Count(ctx context.Context, shoot string, connect access.Connector, to timeline.Recorder) error {
	config, err := connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot %q: %w", shoot, err)
	}
	client, err := access.Fresh(config)
	if err != nil {
		return err
	}
	count := int64(0)
	options := metav1.ListOptions{Limit: 1}
	for {
		page, err := client.CoreV1().ConfigMaps(probe.Namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("count the data of the shoot %q: %w", shoot, err)
		}
		for i := range page.Items {
			if page.Items[i].Name != rootCA { // which comes before all keys of the load
				count++
			}
		}
		if left := page.RemainingItemCount; left != nil {
			count += *left
			break
		}
		if options.Continue, options.Limit = page.Continue, pageSize; options.Continue == "" {
			break
		}
	}
	to.Record(timeline.Event{Actor: world.User, Subject: shoot, Payload: timeline.DataCounted{Keys: count}})
	return nil
}
