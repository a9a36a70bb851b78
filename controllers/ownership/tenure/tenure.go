// Package tenure says what a seed has of a shoot's control plane, and how far its ownership epoch has come there
// (docs/adr/0018-tenure.md). It is pure: whoever calls it has read the objects and DNS, and writes the objects. It does
// not decide who owns the shoot; DNS does (docs/ownership.md#decision).
package tenure

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Tenure is what one seed has of one shoot. The zero Tenure is that of a seed that has nothing.
type Tenure struct {
	// Epoch is the one in which the seed last acted on the shoot, zero if it never did or is cleaning up.
	Epoch int64
	// Phase is how far the Epoch has come here.
	Phase Phase
	Etcd  Etcd
	// Whose is the shoot, by DNS. It is read only when it is needed.
	Whose Whose
}

// Etcd is what a seed has of a shoot's etcd. The zero Etcd is none.
type Etcd struct {
	// Exists is true if the StatefulSet is there.
	Exists bool
	// Epoch is the one it is deployed for.
	Epoch int64
	// Runs is true if it is to have a replica: the shoot is not hibernated.
	Runs bool
	// Wakeable is true if the shoot's API server is deployed, so that a hibernated etcd can be woken up. Of leaves it to
	// the migration, which alone asks for it.
	Wakeable bool
}

// Of says what the objects of a seed mean. An object that is not there is nil. An epoch that cannot be read is an error
// that names the object and the annotation, and so is a StatefulSet without one: none would mean that it never ran.
func Of(namespace *corev1.Namespace, etcd *appsv1.StatefulSet) (Tenure, error) {
	var t Tenure
	if namespace != nil {
		err := parseGiven(namespace, constants.OwnershipEpoch, &t.Epoch)
		if err == nil {
			t.Phase, err = phaseOf(namespace, t.Epoch)
		}
		if err != nil {
			return Tenure{}, fmt.Errorf("namespace %q: %w", namespace.Name, err)
		}
	}
	if etcd != nil {
		t.Etcd = Etcd{Exists: true, Runs: ptr.Deref(etcd.Spec.Replicas, 1) > 0}
		if err := parse(etcd, constants.OwnershipEpoch, &t.Etcd.Epoch); err != nil {
			return Tenure{}, fmt.Errorf("statefulset %q: %w", client.ObjectKeyFromObject(etcd), err)
		}
	}
	// Etcd is there before it is noted.
	if (t.Phase == Claimed || t.Phase == Deployed) && t.Etcd.Epoch >= t.Epoch {
		if t.Phase = Deployed; t.Etcd.Runs {
			t.Phase = Begun
		}
	}
	return t, nil
}

// parseGiven leaves the epoch as it is if the annotation is not there.
func parseGiven(object client.Object, annotation string, epoch *int64) error {
	if _, given := object.GetAnnotations()[annotation]; !given {
		return nil
	}
	return parse(object, annotation, epoch)
}

func parse(object client.Object, annotation string, epoch *int64) (err error) {
	if *epoch, err = strconv.ParseInt(object.GetAnnotations()[annotation], 10, 64); err != nil {
		return fmt.Errorf("read annotation %s: %w", annotation, err)
	}
	return nil
}
