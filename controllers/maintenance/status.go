package maintenance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// announce writes that a maintenance with something to report is under way, or has failed in part already, unless
// somebody has changed the shoot since it was read.
func (m *run) announce(ctx context.Context, last *gardencorev1beta1.LastMaintenance) error {
	if last == nil {
		return nil
	}
	under := last.DeepCopy()
	if under.State == gardencorev1beta1.LastOperationStateSucceeded && under.TriggeredTime.Time.Equal(m.now) {
		under.State = gardencorev1beta1.LastOperationStateProcessing
	}
	if equality.Semantic.DeepEqual(under, m.last) {
		return nil
	}
	after, err := patchLast(ctx, m.Garden, m.before, under, m.wire.GetResourceVersion())
	if err != nil {
		return err
	}
	// The next write is still about what was read: nobody else has written in between.
	m.wire.SetResourceVersion(after)
	m.last = under
	return nil
}

// report writes how the maintenance has ended.
func (m *run) report(ctx context.Context, last *gardencorev1beta1.LastMaintenance) error {
	if last == nil || equality.Semantic.DeepEqual(last, m.last) {
		return nil
	}
	_, err := patchLast(ctx, m.Garden, m.before, last, "")
	return client.IgnoreNotFound(err)
}

// giveUp writes that nothing of the plan could be done. The next window is the next try
// (docs/specification/versions.md#spec-4-6).
func (m *run) giveUp(ctx context.Context, refusal string) error {
	reason := "Updates to the Shoot failed to be applied: " + refusal
	last := &gardencorev1beta1.LastMaintenance{
		Description: "Maintenance failed", TriggeredTime: metav1.NewTime(m.now),
		State: gardencorev1beta1.LastOperationStateFailed, FailureReason: &reason,
	}
	if err := m.announce(ctx, last); err != nil {
		return err
	}
	m.Events.Event(m.before, corev1.EventTypeWarning, reasonFailed, reason)
	shoot := m.before.DeepCopy()
	mark(shoot, m.now)
	askFor(shoot, besides(shoot))
	if err := m.write(ctx, shoot); err != nil {
		return err
	}
	m.Metrics.refused()
	return nil
}

// settleInterrupted ends the report of a maintenance that a crash has cut off: it was carried out if that was noted on
// the shoot, or if nobody asks for it any more.
func (r *Reconciler) settleInterrupted(ctx context.Context, shoot *gardencorev1beta1.Shoot, now time.Time) error {
	last := shoot.Status.LastMaintenance.DeepCopy()
	if last == nil || last.State != gardencorev1beta1.LastOperationStateProcessing {
		return nil
	}
	last.State = gardencorev1beta1.LastOperationStateSucceeded
	if in, yes := window.EffectiveOf(shoot).Current(last.TriggeredTime.Time); yes &&
		shoot.Annotations[constants.MaintainedWindow] < in.Key() {
		reason := fmt.Sprintf("The maintenance was interrupted, and its time window had passed at %s",
			now.UTC().Format(time.RFC3339))
		last.Description, last.State, last.FailureReason = "Maintenance failed", gardencorev1beta1.LastOperationStateFailed,
			&reason
	}
	_, err := patchLast(ctx, r.Garden, shoot, last, "")
	return err
}

// patchLast writes status.lastMaintenance; with a version, only if the shoot still has that. It returns the new one.
func patchLast(ctx context.Context, garden client.Client, shoot *gardencorev1beta1.Shoot,
	last *gardencorev1beta1.LastMaintenance, resourceVersion string) (string, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(last)
	if err != nil {
		return "", fmt.Errorf("encode lastMaintenance of shoot %q: %w", client.ObjectKeyFromObject(shoot), err)
	}
	if last.FailureReason == nil {
		fields["failureReason"] = nil // a merge patch removes what is null
	}
	patch := map[string]any{"status": map[string]any{"lastMaintenance": fields}}
	if resourceVersion != "" {
		patch["metadata"] = map[string]any{"resourceVersion": resourceVersion}
	}
	content, err := json.Marshal(patch)
	if err != nil {
		return "", fmt.Errorf("encode lastMaintenance of shoot %q: %w", client.ObjectKeyFromObject(shoot), err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))
	object.SetNamespace(shoot.Namespace)
	object.SetName(shoot.Name)
	if err := garden.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, content)); err != nil {
		return "", fmt.Errorf("report the maintenance of shoot %q: %w", client.ObjectKeyFromObject(shoot), err)
	}
	return object.GetResourceVersion(), nil
}

// recordEvents records an event for each version that was changed, or could not be.
func (m *run) recordEvents(plan Plan) {
	m.recordUpdate(reasonKubernetes, "Control Plane", "Kubernetes version", &plan.ControlPlane)
	for _, pool := range plan.Pools {
		subject := fmt.Sprintf("Worker pool %q", pool.Name)
		m.recordUpdate(reasonKubernetes, subject, "Kubernetes version", pool.Kubernetes)
		m.recordUpdate(reasonImage, subject, "machine image", pool.MachineImage)
	}
}

func (m *run) recordUpdate(reason, subject, what string, update *version.Update) {
	reported := report{}
	reported.update(subject, what, "", update)
	for _, text := range reported.failures {
		m.Events.Event(m.before, corev1.EventTypeWarning, reason, text)
	}
	if len(reported.failures) > 0 {
		return
	}
	for _, text := range reported.done {
		m.Events.Event(m.before, corev1.EventTypeNormal, reason, text)
	}
}
