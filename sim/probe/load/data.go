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

// rootCA is a ConfigMap that Kubernetes puts into every namespace; it is not of the load.
const rootCA = "kube-root-ca.crt"

// pageSize of lists.
const pageSize = 500

// Data reads everything that the load's namespace holds, past every link, and records it.
func Data(ctx context.Context, shoot string, connect access.Connector, to timeline.Recorder) error {
	config, err := connect(ctx)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot %q: %w", shoot, err)
	}
	client, err := access.Fresh(config)
	if err != nil {
		return err
	}
	seen := timeline.DataSeen{Keys: []timeline.DataKey{}}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.CoreV1().ConfigMaps(probe.Namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("read the data of the shoot %q: %w", shoot, err)
		}
		for i := range page.Items {
			if page.Items[i].Name == rootCA {
				continue
			}
			seen.Keys = append(seen.Keys, timeline.DataKey{
				Key: page.Items[i].Name, Number: numberOf(&page.Items[i]),
				UID: string(page.Items[i].UID), ResourceVersion: access.VersionOf(page.Items[i].ResourceVersion),
			})
		}
		seen.Version = access.VersionOf(page.ResourceVersion)
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	to.Record(timeline.Event{Actor: world.Observer, Subject: shoot, Payload: seen})
	return nil
}
