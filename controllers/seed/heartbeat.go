// Package seed reports to the garden that a seed is there and fit to take shoots: its Lease, and the status of its Seed
// (docs/specification/api.md#spec-1-4, docs/ownership.md#spec-9-4). It does not decide what happens when the Lease is
// not renewed.
package seed

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
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

// Heartbeat renews the Lease of a seed and keeps the status of its Seed. It runs in the gardenlet.
type Heartbeat struct {
	// Garden and Seed are uncached clients.
	Garden, Seed client.Client
	Clock        clock.PassiveClock
	SeedName     string
	Version      string
	// Interval is between two renewals.
	Interval time.Duration
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

func (h *Heartbeat) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*h.Interval)
	defer cancel()
	if err := h.Seed.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{}); err != nil {
		return fmt.Errorf("ask the seed's API server: %w", err)
	}
	seed := &gardencorev1beta1.Seed{}
	if err := h.Garden.Get(ctx, client.ObjectKey{Name: h.SeedName}, seed); err != nil {
		return fmt.Errorf("read seed %q: %w", h.SeedName, err)
	}
	if err := h.renew(ctx, seed); err != nil {
		return err
	}
	return patch.LockedStatus(ctx, h.Garden, seed, func() { h.assess(seed) })
}

// renew renews the Lease. Its holder is the Seed's UID: a seed rebuilt under the same name is another one.
func (h *Heartbeat) renew(ctx context.Context, seed *gardencorev1beta1.Seed) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: constants.SeedLeaseNamespace,
		Name: h.SeedName}}
	now := metav1.NewMicroTime(h.Clock.Now())
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To(string(seed.UID)), RenewTime: &now,
		LeaseDurationSeconds: ptr.To(max(1, int32(h.Interval.Seconds()))),
	}
	return patch.CreateOrPatch(ctx, h.Garden, lease, func(*coordinationv1.Lease) error { lease.Spec = spec; return nil })
}

// assess sets the status.
func (h *Heartbeat) assess(seed *gardencorev1beta1.Seed) {
	seed.Status.Gardener = &gardencorev1beta1.Gardener{ID: h.SeedName, Name: "gardenlet", Version: h.Version}
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
