package tenure

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Step is one change of the epochs that a control-plane namespace notes.
type Step string

const (
	// Claimed: from now on this seed acts on the shoot in the epoch.
	Claimed Step = "claimed"
	// Begun: from now on etcd of the epoch may run here, and may have what no backup has.
	Begun Step = "begun"
	// Ended: this seed has ended the epoch by its own decision.
	Ended Step = "ended"
	// Abandoned: this seed cleans up, so it acts in no epoch any more. What has begun and ended stays noted.
	Abandoned Step = "abandoned"
)

// Advance notes on the namespace that the epoch has come to the step. Abandoned needs no epoch. It changes nothing
// else, and nothing on the seed: whoever calls it writes the namespace, and only over the version that it has read.
func Advance(namespace *corev1.Namespace, to Step, epoch int64) {
	note := func(annotation string) {
		metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, annotation, strconv.FormatInt(epoch, 10))
	}
	switch to {
	case Claimed:
		note(constants.OwnershipEpoch)
	case Begun:
		note(constants.OwnershipBegun)
	case Ended:
		note(constants.OwnershipEnded)
	case Abandoned:
		delete(namespace.Annotations, constants.OwnershipEpoch)
	}
}
