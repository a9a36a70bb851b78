// Package seed reports to the garden that a seed is there and fit to take shoots: its Lease, and the status of its Seed
// (docs/specification/api.md#spec-1-4, docs/ownership.md#spec-9-4). It does not decide what happens when the Lease is
// not renewed.
package seed

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// DefaultCapacity is how many shoots a seed takes if nobody says otherwise.
const DefaultCapacity = 250

// rereadBeats is after how many beats the Seed is read although nobody has reported a change of it.
const rereadBeats = 5

// Heartbeat renews the Lease of a seed and keeps the status of its Seed. It runs in the gardenlet. A beat is one
// request to the garden, which reads nothing before. The Seed is read, and its status kept, when a watch has reported
// another version of it, after a missed beat or a pause, and after some beats in any case.
type Heartbeat struct {
	// Garden and Seed are uncached clients.
	Garden, Seed client.Client
	Clock        clock.PassiveClock
	SeedName     string
	Version      string
	// Interval is between two renewals.
	Interval time.Duration
	// Alive is when the seed's API server was last seen to serve (connection.Pulse): within an interval it is not asked.
	Alive func() time.Time
	// KubernetesVersion asks the seed's API server for its version. After a missed beat it is asked again.
	KubernetesVersion func(context.Context) (string, error)

	kubernetes string                  // the version; empty if it is not known
	reported   atomic.Value            // string: the resource version of the Seed that was reported last
	known      *gardencorev1beta1.Seed // as the last beats have read it; nil if the last beat was missed
	read       time.Time               // when known was read
	last       time.Time               // when the last beat began that was not missed
}

// Start beats until ctx is done. A beat is missed while the seed's own API server does not answer: a seed that cannot
// serve must not look alive.
func (h *Heartbeat) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("heartbeat")
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := h.beat(ctx); err != nil {
			logger.Info("The seed's heartbeat is missed", "seed", h.SeedName, "reason", err.Error())
		}
	}, h.Interval)
	return nil
}

// Reported notes that a watch has reported the Seed: the next beat reads it, unless that version is known.
func (h *Heartbeat) Reported(seed client.Object) { h.reported.Store(seed.GetResourceVersion()) }

func (h *Heartbeat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*h.Interval)
	defer cancel()
	begin := h.Clock.Now()
	err := h.checkAlive(ctx, begin)
	switch {
	case err != nil:
	case h.mustRead(begin):
		err = h.report(ctx, begin)
	default:
		err = h.renew(ctx)
	}
	if err != nil {
		h.known, h.kubernetes = nil, ""
		return err
	}
	h.last = begin
	return nil
}

// checkAlive makes sure that the seed's API server has answered within the interval, or does so now.
func (h *Heartbeat) checkAlive(ctx context.Context, now time.Time) error {
	if now.Sub(h.Alive()) < h.Interval {
		return nil
	}
	if err := h.Seed.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
		return fmt.Errorf("ask the seed's API server: %w", err)
	}
	return nil
}

// mustRead reports whether what is known of the Seed may have changed: after a pause this seed may have been taken for
// lost, with its Lease or without.
func (h *Heartbeat) mustRead(now time.Time) bool {
	reported, _ := h.reported.Load().(string)
	return h.known == nil || reported != "" && reported != h.known.ResourceVersion ||
		now.Sub(h.last) > 2*h.Interval || now.Sub(h.read) >= rereadBeats*h.Interval
}

// report is a beat that reads the Seed, and keeps its status.
func (h *Heartbeat) report(ctx context.Context, now time.Time) error {
	h.known, h.read = &gardencorev1beta1.Seed{}, now
	if err := h.Garden.Get(ctx, client.ObjectKey{Name: h.SeedName}, h.known); err != nil {
		return fmt.Errorf("read seed %q: %w", h.SeedName, err)
	}
	if err := h.renew(ctx); err != nil {
		return err
	}
	if h.kubernetes == "" {
		h.askVersion(ctx)
	}
	return patch.LockedStatus(ctx, h.Garden, h.known, func() { h.assess(h.known) })
}

// askVersion asks for at most an interval. A seed whose version is not known beats all the same.
func (h *Heartbeat) askVersion(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, h.Interval)
	defer cancel()
	version, err := h.KubernetesVersion(ctx)
	if err != nil {
		log.FromContext(ctx).Info("The version of the seed's API server is not known", "seed", h.SeedName, "reason",
			err.Error())
		return
	}
	h.kubernetes = version
}

// renew renews the Lease. Its holder is the Seed's UID: a seed rebuilt under the same name is another one.
func (h *Heartbeat) renew(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: constants.SeedLeaseNamespace,
		Name: h.SeedName}}
	before, now := lease.DeepCopy(), metav1.NewMicroTime(h.Clock.Now())
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To(string(h.known.UID)), RenewTime: &now,
		LeaseDurationSeconds: ptr.To(max(1, int32(h.Interval.Seconds()))),
	}
	err := h.Garden.Patch(ctx, lease, client.MergeFrom(before))
	if apierrors.IsNotFound(err) {
		err = h.Garden.Create(ctx, lease)
	}
	return patch.Describe("renew", lease, h.Garden, err)
}

// assess sets the status.
func (h *Heartbeat) assess(seed *gardencorev1beta1.Seed) {
	seed.Status.Gardener = &gardencorev1beta1.Gardener{ID: h.SeedName, Name: "gardenlet", Version: h.Version}
	if h.kubernetes != "" {
		seed.Status.KubernetesVersion = ptr.To(h.kubernetes)
	}
	if seed.Status.LastOperation == nil || seed.Status.ObservedGeneration != seed.Generation {
		seed.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStateSucceeded,
			Progress: 100, Description: "The seed's gardenlet works by this version of the Seed.",
			LastUpdateTime: metav1.NewTime(h.Clock.Now()),
		}
	}
	seed.Status.ObservedGeneration = seed.Generation
	if seed.Status.Capacity == nil {
		capacity := corev1.ResourceList{"shoots": *resource.NewQuantity(DefaultCapacity, resource.DecimalSI)}
		seed.Status.Capacity, seed.Status.Allocatable = capacity, capacity
	}
	for _, condition := range []gardencorev1beta1.ConditionType{
		gardencorev1beta1.SeedGardenletReady, gardencorev1beta1.SeedSystemComponentsHealthy,
	} {
		h.setTrue(seed, condition, "The seed's gardenlet and API server answer.")
	}
	const stopped = gardencorev1beta1.SeedEmergencyStopShootReconciliations
	if seed.Annotations[constants.ShootEmergencyStopReconciliations] == constants.LabelTrue {
		h.setTrue(seed, stopped, "No operations on the seed's shoots begin: its annotation "+
			constants.ShootEmergencyStopReconciliations+" says so.")
	} else {
		seed.Status.Conditions = slices.DeleteFunc(seed.Status.Conditions, func(c gardencorev1beta1.Condition) bool {
			return c.Type == stopped
		})
	}
}

func (h *Heartbeat) setTrue(seed *gardencorev1beta1.Seed, wanted gardencorev1beta1.ConditionType, message string) {
	now := metav1.NewTime(h.Clock.Now())
	condition := gardencorev1beta1.Condition{
		Type: wanted, Status: gardencorev1beta1.ConditionTrue, LastTransitionTime: now, LastUpdateTime: now,
		Reason: string(wanted), Message: message,
	}
	for i, old := range seed.Status.Conditions {
		if old.Type != wanted {
			continue
		}
		if old.Status != condition.Status {
			seed.Status.Conditions[i] = condition
		}
		return
	}
	seed.Status.Conditions = append(seed.Status.Conditions, condition)
}
