package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/cloudcontroller"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Items implements world.World: per seed the processes in its pods, owned by these, and the folders of its
// volumes and pods; in the cloud the objects in buckets and the DNS records.
func (o *Observer) Items(ctx context.Context) (map[string][]timeline.Item, error) {
	all := map[string][]timeline.Item{}
	var errs []error
	for _, seed := range o.Seeds() {
		items, err := o.itemsOf(ctx, seed)
		all[seed] = items
		errs = append(errs, err)
	}
	items, err := cloudItems(ctx, o.cloud)
	all[switchboard.Cloud] = items
	return all, errors.Join(append(errs, err)...)
}

// Certain implements world.World.
func (*Observer) Certain() (onSeed, inCloud []string) {
	return []string{"configmaps", "folder", "namespaces", "pods", "process", "secrets"}, []string{"object", "record"}
}

func (o *Observer) itemsOf(ctx context.Context, seed string) ([]timeline.Item, error) {
	containers, err := o.Containers(ctx, seed, func(process.Program) bool { return true })
	if err != nil {
		return nil, err
	}
	var items []timeline.Item
	for _, c := range containers {
		pod, _ := PodOf(c)
		items = append(items, timeline.Item{
			Class: "process", Name: strings.Join(c.Args[:min(2, len(c.Args))], " "), UID: fmt.Sprintf("%d/%d", c.PID, c.Birth),
			Owner:    string(pod),
			Mentions: mentions(strings.Join(c.Args, " ")),
		})
	}
	cluster, err := o.Cluster(seed)
	if err != nil {
		return nil, err
	}
	folders, err := cluster.Volumes(ctx)
	for _, name := range folders {
		items = append(items, timeline.Item{Class: "folder", Name: name, Mentions: mentions(name)})
	}
	if keeper, keeps := cluster.(podKeeper); keeps && err == nil {
		var pods []string
		pods, err = keeper.PodFolders(ctx)
		for _, uid := range pods {
			items = append(items, timeline.Item{Class: "folder", Namespace: "pods", Name: uid, Owner: uid})
		}
	}
	if err == nil && environment.IsHosted(o.Landscape, seed) {
		var disks []timeline.Item
		disks, err = volumesOf(ctx, o.cloud, environment.TechnicalID(seed))
		items = append(items, disks...)
	}
	return items, err
}

// volumesOf a seed that is a shoot are those of the cloud that its pods have. Each belongs to a claim.
func volumesOf(ctx context.Context, c *cloud.Client, seed string) (items []timeline.Item, err error) {
	volumes, err := c.Volumes().List(ctx, cloud.Filter{Tags: map[string]string{cloudcontroller.TagShoot: seed}})
	if err != nil {
		return nil, fmt.Errorf("list the volumes of seed %q: %w", seed, err)
	}
	for _, v := range volumes {
		items = append(items, timeline.Item{Class: "folder", Namespace: "volumes", Name: v.ID,
			Owner:    strings.TrimPrefix(v.Tags[cloud.TagName], cloud.VolumePrefix),
			Mentions: mentions(v.Tags[cloud.TagFor])})
	}
	return items, nil
}

func cloudItems(ctx context.Context, c *cloud.Client) ([]timeline.Item, error) {
	var items []timeline.Item
	buckets, err := c.Buckets().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the buckets: %w", err)
	}
	for _, bucket := range buckets {
		if bucket.Name == environment.GardenBucket {
			continue // it has no shoot's, and is never settled
		}
		for object, err := range c.Bucket(bucket.Name).All(ctx, "") {
			if err != nil {
				return nil, fmt.Errorf("list the objects of bucket %q: %w", bucket.Name, err)
			}
			items = append(items, timeline.Item{
				Class: "object", Namespace: bucket.Name, Name: object.Key, Mentions: mentions(object.Key),
			})
		}
	}
	zones, err := c.Zones().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the DNS zones: %w", err)
	}
	for _, zone := range zones {
		records, err := c.Records(zone.ID).List(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the records of zone %q: %w", zone.Name, err)
		}
		for _, record := range records {
			items = append(items, timeline.Item{Class: "record", Namespace: record.Type, Name: record.Name,
				Mentions: mentionsOfRecord(record)})
		}
	}
	return items, nil
}

// mentionsOfRecord: whom a name leads to. Who owns a shoot stays known when the shoot is gone (docs/adr/0005).
func mentionsOfRecord(record cloud.RecordSet) []string {
	for _, domain := range []string{environment.Domain, environment.DefaultDomain} {
		shoot, below := strings.CutSuffix(record.Name, "."+environment.Project+"."+domain)
		if shoot, named := strings.CutPrefix(shoot, "api."); below && named {
			return []string{environment.TechnicalID(shoot)}
		}
	}
	return nil
}

// mentions finds technical ids of shoots of our project in a text: shoot--p--<name>.
func mentions(text string) []string {
	prefix := constants.TechnicalIDPrefix + environment.Project + "--"
	var found []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" /=,:_\"", r) }) {
		if i := strings.Index(word, prefix); i >= 0 {
			name, _, _ := strings.Cut(word[i+len(prefix):], "--")
			found = append(found, prefix+name)
		}
	}
	return found
}
