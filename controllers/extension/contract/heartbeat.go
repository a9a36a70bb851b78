package contract

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Heartbeat renews the Lease of one extension in its own namespace (docs/specification/extensions.md#spec-3-9). It
// implements manager.Runnable.
type Heartbeat struct {
	Client    client.Client
	Clock     clock.WithTicker
	Extension string
	Namespace string
	Every     time.Duration
}

// Start renews the Lease until ctx ends. A renewal that fails is logged and tried again with the next one: the
// gardenlet judges by the time of the last.
func (h *Heartbeat) Start(ctx context.Context) error {
	ticker := h.Clock.NewTicker(h.Every)
	defer ticker.Stop()
	for {
		if err := h.Renew(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "the heartbeat was not renewed")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Renew writes the Lease once, whatever it was.
func (h *Heartbeat) Renew(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: constants.HeartbeatLease}}
	none := client.MergeFrom(lease.DeepCopy())
	lease.Spec.HolderIdentity = ptr.To(h.Extension)
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(h.Every / time.Second))
	lease.Spec.RenewTime = &metav1.MicroTime{Time: h.Clock.Now()}
	made := lease.DeepCopy()
	err := h.Client.Patch(ctx, lease, none)
	if apierrors.IsNotFound(err) {
		err = h.Client.Create(ctx, made)
	}
	return patch.Describe("renew", lease, h.Client, err)
}
