package tenure

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Advance notes on the namespace, of which t is the tenure, that the epoch has come to the phase. It changes nothing if
// the epoch has passed the phase, or if another epoch is noted; but an epoch is claimed over any other. Abandoned needs
// no epoch. Nothing on the seed is changed: whoever calls it writes the namespace, and only over the version that was
// read.
func (t Tenure) Advance(namespace *corev1.Namespace, to Phase, epoch int64) {
	switch {
	case to == Abandoned:
		t.Epoch = 0
	case to == Claimed && epoch != t.Epoch:
		t.Epoch, t.Phase = epoch, Claimed
	case epoch != t.Epoch || t.Phase < Claimed:
		return
	case to == Ended && t.Phase < Begun:
		t.Phase = Saved // it never began
	default:
		t.Phase = max(t.Phase, to)
	}
	delete(namespace.Annotations, formerlyBegun)
	delete(namespace.Annotations, formerlyEnded)
	if t.Epoch == 0 {
		delete(namespace.Annotations, constants.OwnershipEpoch)
		delete(namespace.Annotations, constants.OwnershipPhase)
		return
	}
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, constants.OwnershipEpoch, strconv.FormatInt(t.Epoch, 10))
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, constants.OwnershipPhase, t.Phase.String())
}
