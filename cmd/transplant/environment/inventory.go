package environment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.Inventory = &World{}

// Items implements world.Inventory: per seed the processes in its pods, owned by these, and the folders of its
// volumes and pods; in the cloud the objects in buckets and the DNS records.
func (w *World) Items(ctx context.Context) (map[string][]timeline.Item, error) {
	all := map[string][]timeline.Item{}
	var errs []error
	for _, seed := range w.Seeds() {
		items, err := w.itemsOf(ctx, seed)
		all[seed] = items
		errs = append(errs, err)
	}
	items, err := w.cloudItems(ctx)
	all[switchboard.Cloud] = items
	return all, errors.Join(append(errs, err)...)
}

// Certain implements world.Inventory.
func (*World) Certain() (onSeed, inCloud []string) {
	return []string{"configmaps", "folder", "namespaces", "pods", "process", "secrets"}, []string{"object", "record"}
}

func (w *World) itemsOf(ctx context.Context, seed string) ([]timeline.Item, error) {
	containers, err := w.containers(ctx, seed, func(process.Program) bool { return true })
	if err != nil {
		return nil, err
	}
	var items []timeline.Item
	for _, c := range containers {
		pod, _ := podOf(c)
		items = append(items, timeline.Item{
			Class: "process", Name: strings.Join(c.Args[:min(2, len(c.Args))], " "), UID: fmt.Sprintf("%d/%d", c.PID, c.Birth),
			Owner:    string(pod),
			Mentions: mentions(strings.Join(c.Args, " ")),
		})
	}
	cluster, err := w.cluster(seed)
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
	return items, err
}

func (w *World) cloudItems(ctx context.Context) ([]timeline.Item, error) {
	var items []timeline.Item
	buckets, err := w.cloud.Buckets().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the buckets: %w", err)
	}
	for _, bucket := range buckets {
		for object, err := range w.cloud.Bucket(bucket.Name).All(ctx, "") {
			if err != nil {
				return nil, fmt.Errorf("list the objects of bucket %q: %w", bucket.Name, err)
			}
			items = append(items, timeline.Item{
				Class: "object", Namespace: bucket.Name, Name: object.Key, Mentions: mentions(object.Key),
			})
		}
	}
	zones, err := w.cloud.Zones().List(ctx, cloud.Filter{})
	if err != nil {
		return nil, fmt.Errorf("list the DNS zones: %w", err)
	}
	for _, zone := range zones {
		records, err := w.cloud.Records(zone.ID).List(ctx)
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
	for _, domain := range []string{Domain, DefaultDomain} {
		shoot, below := strings.CutSuffix(record.Name, "."+Project+"."+domain)
		if shoot, named := strings.CutPrefix(shoot, "api."); below && named {
			return []string{technicalID(shoot)}
		}
	}
	return nil
}

// mentions finds technical ids of shoots of our project in a text: shoot--p--<name>.
func mentions(text string) []string {
	prefix := constants.TechnicalIDPrefix + Project + "--"
	var found []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" /=,:_\"", r) }) {
		if i := strings.Index(word, prefix); i >= 0 {
			name, _, _ := strings.Cut(word[i+len(prefix):], "--")
			found = append(found, prefix+name)
		}
	}
	return found
}
