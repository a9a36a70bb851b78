package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/world"
)

// Webhooks are those of third-party extensions that shoots wait for in vain. A control plane may need one before
// anything is asked for by an object: only the Shoot says so then.
type Webhooks struct {
	Garden   dynamic.Interface
	Clinics  []*Clinic
	Patience time.Duration

	since map[call]time.Time // when a Shoot has first said that it is unanswered
}

// call of a webhook at an address, by the API server of a seed.
type call struct{ seed, webhook, address string }

func (c call) compare(other call) int {
	return cmp.Or(cmp.Compare(c.seed, other.seed), cmp.Compare(c.webhook, other.webhook),
		cmp.Compare(c.address, other.address))
}

// complaint of a Shoot about a call: the text of the error, and when the gardenlet has written it.
type complaint struct {
	shoot, text string
	at          time.Time
}

// unanswered is what an API server says of a webhook in mode url that it cannot reach.
var unanswered = regexp.MustCompile(
	`failed calling webhook "([^"]+)": (?:failed to call webhook: )?Post "https://([^/"?]+)[^"]*": (.+)`)

// Look at all Shoots once.
func (w *Webhooks) Look(ctx context.Context) ([]Finding, error) {
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	list, err := w.Garden.Resource(gardencorev1beta1.SchemeGroupVersion.WithResource("shoots")).
		List(asking, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("list the Shoots: %w", err)
	}
	latest := map[call]complaint{}
	for i := range list.Items {
		shoot := &gardencorev1beta1.Shoot{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, shoot); err != nil {
			return nil, fmt.Errorf("decode the Shoot %q: %w", list.Items[i].GetName(), err)
		}
		for _, problem := range shoot.Status.LastErrors {
			said := unanswered.FindStringSubmatch(problem.Description)
			if said == nil {
				continue
			}
			its := call{ptr.Deref(shoot.Status.SeedName, ptr.Deref(shoot.Spec.SeedName, "")), said[1], said[2]}
			at := ptr.Deref(problem.LastUpdateTime, metav1.Time{}).Time
			if known, again := latest[its]; !again || at.After(known.at) {
				latest[its] = complaint{shoot.Name, said[3], at}
			}
		}
	}
	return w.judge(ctx, latest), nil
}

// judge what Shoots say. The gardenlet keeps an error until its task is done or has failed again. So an error that
// stays says nothing new: an extension is silent only if a later attempt has failed, too.
func (w *Webhooks) judge(ctx context.Context, latest map[call]complaint) (found []Finding) {
	since := map[call]time.Time{}
	for _, its := range slices.SortedFunc(maps.Keys(latest), call.compare) {
		said := latest[its]
		since[its] = said.at
		if begun := w.since[its]; !begun.IsZero() {
			since[its] = begun
		}
		owner, known := w.ownerOf(ctx, its)
		if !known {
			continue
		}
		f := Finding{Owner: owner, Cluster: its.seed, State: Suspect, object: true, What: fmt.Sprintf(
			"its webhook %s does not answer at %s, and shoot %s waits for it: %s", its.webhook, its.address, said.shoot,
			oneLine(said.text))}
		if said.at.Sub(since[its]) >= w.Patience/silentPart {
			f.State = Silent
		}
		found = append(found, f)
	}
	w.since = since
	return found
}

// ownerOf a webhook is the extension whose pod has its address.
func (w *Webhooks) ownerOf(ctx context.Context, its call) (world.PodOwner, bool) {
	host, _, err := net.SplitHostPort(its.address)
	if err != nil {
		host = its.address
	}
	for _, c := range w.Clinics {
		if c.Cluster != its.seed {
			continue
		}
		pods, err := c.pods(ctx)
		if err != nil {
			return world.PodOwner{}, false // unknown: it is looked at again
		}
		for i := range pods {
			if owner, known := c.Owners.OwnerOf(c.Cluster, &pods[i]); known && owner.Extension != "" &&
				pods[i].Status.PodIP == host {
				return owner, true
			}
		}
	}
	return world.PodOwner{}, false
}
