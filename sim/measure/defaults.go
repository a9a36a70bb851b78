package measure

import (
	"time"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// AtDefaults is what a recovery would take with the settings that the product has by default
// (docs/ownership.md#spec-9-4), all else being equal: scenarios shorten the waits, not the work. It is computed, not
// measured. It leaves out that the garden looks for lost seeds every 8 s by default, and in scenarios every second or
// so: twice that may come on top.
type AtDefaults struct {
	// RTOSeconds is WorkSeconds and WaitSeconds together.
	RTOSeconds float64 `json:"rtoSeconds"`
	// WorkSeconds is the measured RTO without the waits that the scenario's settings ask for.
	WorkSeconds float64 `json:"workSeconds"`
	// WaitSeconds is what the default settings ask for of those waits that the recovery has had: the grace period of a
	// lost seed, and the wait of a new owner (docs/ownership.md#o6).
	WaitSeconds float64 `json:"waitSeconds"`
	// DNSSeconds is how much longer a client may still use the old address.
	DNSSeconds float64 `json:"dnsSeconds"`
	// RPOAtMostSeconds is the most that may be lost: what was measured beyond the time between two incremental backups in
	// the scenario, and that time at the default settings; absent where the RPO was not measured.
	RPOAtMostSeconds *float64 `json:"rpoAtMostSeconds,omitempty"`
}

// Defaults is what the longest recovery would take at default settings; nil if there was none, or if it was not seen
// whole. The settings are those of the scenario.
func Defaults(events []timeline.Event, settings landscape.Settings) *AtDefaults {
	settings.Default()
	var longest *AtDefaults
	var slowest time.Duration
	for _, shoot := range shoots(events) {
		since, moments := RecoveryOf(events, shoot)
		if rto := moments["firstWrite"] - since; len(moments) > 0 && rto > slowest {
			slowest, longest = rto, atDefaults(moments, since, settings)
		}
	}
	if longest == nil {
		return nil
	}
	for _, shoot := range shoots(events) {
		if rpo, applies := rpo(events, shoot); applies {
			worst(&longest.RPOAtMostSeconds, max(0, rpo-settings.DeltaInterval.Duration)+
				landscape.ProductSettings().DeltaInterval.Duration)
		}
	}
	return longest
}

func atDefaults(moments map[string]time.Duration, fault time.Duration, settings landscape.Settings) *AtDefaults {
	for _, needed := range []string{"detected", "ownerMoved", "etcdRestored"} {
		if _, seen := moments[needed]; !seen {
			return nil
		}
	}
	product := landscape.ProductSettings()
	var waited, waits time.Duration
	add := func(span, begun, inScenario, byDefault time.Duration) {
		if span+begun >= inScenario { // else it was not waited for: the owner was there to say, or left a final snapshot
			waited += min(span, inScenario)
			waits += byDefault
		}
	}
	// The grace period begins with the last renewal before the fault.
	add(moments["detected"]-fault, settings.SeedLeaseRenew.Duration, settings.SeedLossGracePeriod.Duration,
		product.SeedLossGracePeriod.Duration)
	add(moments["etcdRestored"]-moments["ownerMoved"], 0, settings.OwnerWait(), product.OwnerWait())
	work := moments["firstWrite"] - fault - waited
	return &AtDefaults{
		RTOSeconds: Seconds(work + waits), WorkSeconds: Seconds(work), WaitSeconds: Seconds(waits),
		DNSSeconds: Seconds(product.DNSTTL.Duration),
	}
}
