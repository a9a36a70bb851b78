package tenure

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Phase says how far an epoch has come on a seed. A later one is greater, and an epoch never goes back. All but None
// and Abandoned are noted on the control-plane namespace, by their names.
type Phase int

const (
	// None: the seed has no control-plane namespace of the shoot.
	None Phase = iota
	// Abandoned: the namespace is here without an epoch, because this seed cleans up.
	Abandoned
	// Claimed: the seed acts on the shoot in the epoch, and nothing of the epoch can run here yet.
	Claimed
	// Deployed: etcd of the epoch is here and has never had a replica, because the shoot is hibernated.
	Deployed
	// Begun: etcd of the epoch may have run here, and may have what no backup has.
	Begun
	// Ended: the epoch has begun here and is over by this seed's own decision. A migration that runs again still makes
	// sure that its data is saved.
	Ended
	// Saved: the epoch is over, and nobody needs the data here.
	Saved
)

var phases = []string{"None", "Abandoned", "Claimed", "Deployed", "Begun", "Ended", "Saved"}

func (p Phase) String() string { return phases[p] }

// Annotations with the last epoch that has begun on a namespace, and with the last one that its owner has ended. Builds
// before the phase have written them. They are read where the phase is missing.
const (
	formerlyBegun = "transplant.dev/begun-epoch"
	formerlyEnded = "transplant.dev/ended-epoch"
)

// phaseOf is the phase that a namespace notes for its epoch.
func phaseOf(namespace *corev1.Namespace, epoch int64) (Phase, error) {
	if epoch <= 0 {
		return Abandoned, nil
	}
	if noted, given := namespace.Annotations[constants.OwnershipPhase]; given {
		if phase := Phase(slices.Index(phases, noted)); phase >= Claimed {
			return phase, nil
		}
		return 0, fmt.Errorf("read annotation %s: there is no phase %q", constants.OwnershipPhase, noted)
	}
	var begun, ended int64
	if err := parseGiven(namespace, formerlyBegun, &begun); err != nil {
		return 0, err
	}
	if err := parseGiven(namespace, formerlyEnded, &ended); err != nil {
		return 0, err
	}
	switch {
	case ended >= epoch && begun < epoch:
		return Saved, nil
	case ended >= epoch:
		return Ended, nil
	case begun >= epoch:
		return Begun, nil
	}
	return Claimed, nil
}
