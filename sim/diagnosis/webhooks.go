package diagnosis

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/world"
)

// Webhooks are those of third-party extensions that shoots wait for in vain. A control plane may need one before
// anything is asked for by an object: only the Shoot says so then.
type Webhooks struct {
	Garden   dynamic.Interface
	Clinics  []*Clinic
	Clock    clock.PassiveClock
	Patience time.Duration

	since map[call]time.Time // when it was found to be unanswered
}

// call of a webhook at an address, by the API server of a seed.
type call struct{ seed, webhook, address string }

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
	var found []Finding
	now, since := w.Clock.Now(), map[call]time.Time{}
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
			if _, again := since[its]; again {
				continue
			}
			owner, known := w.ownerOf(ctx, its)
			if !known {
				continue
			}
			begun, before := w.since[its]
			if !before {
				begun = now
			}
			since[its] = begun
			f := Finding{Owner: owner, Cluster: its.seed, State: Suspect, object: true, What: fmt.Sprintf(
				"its webhook %s does not answer at %s, and shoot %s waits for it: %s", its.webhook, its.address, shoot.Name,
				oneLine(said[3]))}
			if now.Sub(begun) >= w.Patience/silentPart {
				f.State = Silent
			}
			found = append(found, f)
		}
	}
	w.since = since
	return found, nil
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
