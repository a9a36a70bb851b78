package placement

import (
	"fmt"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const (
	// zonesForHA are needed to survive the loss of one.
	zonesForHA = 3
	// zoneSelectionEnforce is the mode of seeds that take only shoots with workers in their zones.
	zoneSelectionEnforce = "Enforce"
)

// zonesEnough asks for three zones where the control plane must survive the loss of a zone.
func zonesEnough(q *Question, seed *gardencorev1beta1.Seed) string {
	plane := q.Shoot.Spec.ControlPlane
	if plane == nil || plane.HighAvailability == nil ||
		plane.HighAvailability.FailureTolerance.Type != gardencorev1beta1.FailureToleranceTypeZone {
		return ""
	}
	if zones := len(seed.Spec.Provider.Zones); zones < zonesForHA {
		return fmt.Sprintf("has %d zones, and failure tolerance type %q needs %d", zones,
			gardencorev1beta1.FailureToleranceTypeZone, zonesForHA)
	}
	return ""
}

// zonesOverlap asks for a common zone where the seed wants one. A shoot without workers has no zones.
func zonesOverlap(q *Question, seed *gardencorev1beta1.Seed) string {
	settings := seed.Spec.Settings
	if settings == nil || settings.ZoneSelection == nil || settings.ZoneSelection.Mode != zoneSelectionEnforce {
		return ""
	}
	var wanted []string
	for _, worker := range q.Shoot.Spec.Provider.Workers {
		wanted = append(wanted, worker.Zones...)
	}
	if len(wanted) == 0 || slices.ContainsFunc(wanted, func(zone string) bool {
		return slices.Contains(seed.Spec.Provider.Zones, zone)
	}) {
		return ""
	}
	return "has none of the zones of the shoot's workers: " + strings.Join(wanted, ", ")
}
