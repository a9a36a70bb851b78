package measure

import (
	"time"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// AtDefaults is what a recovery would take with the settings that the product has by default
// (docs/ownership.md#spec-9-4), all else being equal: stories shorten the waits, not the work. It is computed, not
// measured, and leaves out that the garden looks for lost seeds every 8 s by default, and in stories every second or
// so: twice that may come on top.
type AtDefaults struct {
	// RTOSeconds is WorkSeconds and WaitSeconds together.
	RTOSeconds float64 `json:"rtoSeconds"`
	// WorkSeconds is the measured RTO without the waits that the story's settings ask for.
	WorkSeconds float64 `json:"workSeconds"`
	// WaitSeconds is what the default settings ask for of those waits that the recovery has had: the grace period of a
	// lost seed, and the wait of a new owner (docs/ownership.md#o6).
	WaitSeconds float64 `json:"waitSeconds"`
	// DNSSeconds is how much longer a client may still use the old address.
	DNSSeconds float64 `json:"dnsSeconds"`
	// RPOAtMostSeconds is the most that may be lost: what was measured beyond the time between two incremental backups in
	// the story, and that time at the default settings; absent where the RPO was not measured.
	RPOAtMostSeconds *float64 `json:"rpoAtMostSeconds,omitempty"`
}

// Defaults tells what the longest recovery would take at default settings; nil if there was none, or if it was not
// seen whole. The settings are those of the story.
func Defaults(events []timeline.Event, story landscape.Settings) *AtDefaults {
	story.Default()
	var longest *AtDefaults
	var slowest time.Duration
	for _, shoot := range shoots(events) {
		since, moments := RecoveryOf(events, shoot)
		if rto := moments["firstWrite"] - since; len(moments) > 0 && rto > slowest {
			slowest, longest = rto, atDefaults(moments, since, story)
		}
	}
	if longest == nil {
		return nil
	}
	for _, shoot := range shoots(events) {
		if rpo, applies := rpo(events, shoot); applies {
			worst(&longest.RPOAtMostSeconds, max(0, rpo-story.DeltaInterval.Duration)+
				landscape.ProductSettings().DeltaInterval.Duration)
		}
	}
	return longest
}

func atDefaults(moments map[string]time.Duration, fault time.Duration, story landscape.Settings) *AtDefaults {
	for _, needed := range []string{"detected", "ownerMoved", "etcdRestored"} {
		if _, seen := moments[needed]; !seen {
			return nil
		}
	}
	product := landscape.ProductSettings()
	var waited, waits time.Duration
	add := func(span, begun, inStory, byDefault time.Duration) {
		if span+begun >= inStory { // else it was not waited for: the owner was there to say, or left a final snapshot
			waited += min(span, inStory)
			waits += byDefault
		}
	}
	// The grace period begins with the last renewal before the fault.
	add(moments["detected"]-fault, story.SeedLeaseRenew.Duration, story.SeedLossGracePeriod.Duration,
		product.SeedLossGracePeriod.Duration)
	add(moments["etcdRestored"]-moments["ownerMoved"], 0, story.OwnerWait(), product.OwnerWait())
	work := moments["firstWrite"] - fault - waited
	return &AtDefaults{
		RTOSeconds: Seconds(work + waits), WorkSeconds: Seconds(work), WaitSeconds: Seconds(waits),
		DNSSeconds: Seconds(product.DNSTTL.Duration),
	}
}
