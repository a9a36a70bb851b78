package care

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/care/webhooks"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// mend does what care does to a shoot beside looking at it: it makes webhooks harmless and removes pods that are only
// in the way. Whatever is done goes through the shoot's API server, which answers only while its epoch lasts.
func (r *Reconciler) mend(ctx context.Context, o *controlplane.Operation, l *look) error {
	if l.shoot == nil || l.APIServer.RequestErr != nil || l.before != nil {
		return nil // a shoot that was well before has nothing that would have to be mended before the next look at everything
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := l.shoot.collectGarbage(ctx, o)
	if !r.RemediateWebhooks {
		return err
	}
	return errors.Join(err, l.shoot.remediate(ctx, o, &l.Cluster))
}

// remediate changes the problematic webhooks that were seen (docs/specification/care.md#spec-5-7). What is not
// problematic is not written.
func (c *connection) remediate(ctx context.Context, o *controlplane.Operation, seen *health.Cluster) error {
	var errs []error
	for i := range seen.Validating.Items {
		before := &seen.Validating.Items[i]
		after := before.DeepCopy()
		errs = append(errs, c.change(ctx, o, webhooks.Validating(after), before, after,
			func(ctx context.Context, patch []byte) error {
				_, err := c.kubernetes.AdmissionregistrationV1().ValidatingWebhookConfigurations().
					Patch(ctx, before.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
				return err
			}))
	}
	for i := range seen.Mutating.Items {
		before := &seen.Mutating.Items[i]
		after := before.DeepCopy()
		errs = append(errs, c.change(ctx, o, webhooks.Mutating(after), before, after,
			func(ctx context.Context, patch []byte) error {
				_, err := c.kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations().
					Patch(ctx, before.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
				return err
			}))
	}
	return errors.Join(errs...)
}

func (c *connection) change(ctx context.Context, o *controlplane.Operation, view webhooks.Configuration, before,
	after client.Object, send func(context.Context, []byte) error) error {
	changes := webhooks.Remediate(view)
	if len(changes) == 0 {
		return nil
	}
	patch, err := client.StrategicMergeFrom(before).Data(after)
	if err == nil {
		err = send(ctx, patch)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remediate %s %q: %w", view.Kind, view.Name(), err)
	}
	o.Log.Info("Webhooks were remediated", "kind", view.Kind, "name", view.Name(), "changes", changes)
	return nil
}

// collectGarbage deletes pods that nobody needs any more (docs/specification/care.md#spec-5-1).
func (c *connection) collectGarbage(ctx context.Context, o *controlplane.Operation) error {
	namespace := metav1.NamespaceSystem
	deleting := o.Shoot.DeletionTimestamp != nil
	if deleting {
		namespace = metav1.NamespaceAll
	}
	pods, err := c.kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the pods of the shoot: %w", err)
	}
	remove, force := garbage(pods.Items, deleting, o.Clock.Now())
	errs := []error{c.deletePods(ctx, remove, nil), c.deletePods(ctx, force, ptr.To[int64](0))}
	return errors.Join(errs...)
}

// deletePods deletes the pods that were seen, and none that has taken the name of one since.
func (c *connection) deletePods(ctx context.Context, pods []corev1.Pod, grace *int64) error {
	var errs []error
	for _, p := range pods {
		err := c.kubernetes.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{
			GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &p.UID},
		})
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete pod %q: %w", client.ObjectKeyFromObject(&p), err))
		}
	}
	return errors.Join(errs...)
}
