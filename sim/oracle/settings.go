package oracle

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// described is what oracles need to know of the landscape that a run was given.
type described struct {
	Seeds    []seed `json:"seeds"`
	Settings struct {
		SecondSign          bool            `json:"secondSign"`
		SeedLeaseRenew      timeline.Length `json:"seedLeaseRenew"`
		SeedLossGracePeriod timeline.Length `json:"seedLossGracePeriod"`
	} `json:"settings"`
}

type seed struct {
	Name     string `json:"name"`
	HostedBy string `json:"hostedBy"`
}

// describedIn a record; the zero value where the record does not have it.
func describedIn(events []timeline.Event) described {
	_, run, _ := timeline.First[timeline.RunStarted](events)
	var definition struct {
		Spec struct {
			Landscape described `json:"landscape"`
		} `json:"spec"`
	}
	if json.Unmarshal(run.Definition, &definition) != nil {
		return described{}
	}
	return definition.Spec.Landscape
}

// isHosted says whether a shoot is a seed.
func (d described) isHosted(shoot string) bool {
	return slices.ContainsFunc(d.Seeds, func(s seed) bool { return s.Name == shoot && s.HostedBy != "" })
}

// missedRenewals are those of its Lease after which a seed is silent. The grace period begins with the first of them,
// and what is left of it is for how long a shoot must not have answered (docs/ownership.md#spec-9-4).
const missedRenewals = 4

// patience is for how long a shoot of a silent seed is left where it is after its last answer; 0 without a second sign.
func (d described) patience() time.Duration {
	if !d.Settings.SecondSign {
		return 0
	}
	return max(0, time.Duration(d.Settings.SeedLossGracePeriod)-missedRenewals*time.Duration(d.Settings.SeedLeaseRenew))
}
