package processnode

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleteRetry is when a pod is removed again that could not be removed.
const deleteRetry = time.Second

// deleteWhenWritten removes a pod that is to go from the API, once its last status is there.
func (w *worker) deleteWhenWritten(ctx context.Context) {
	if w.phase != phaseStopped || w.pod.DeletionTimestamp == nil || w.gone || w.deleted {
		return
	}
	if !w.status.upToDate() {
		return // the writer sends a letter
	}
	w.deleted = true
	name, namespace, uid := w.pod.Name, w.pod.Namespace, w.pod.UID
	w.elsewhere(func() func() {
		limited, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		now := int64(0)
		err := w.client.CoreV1().Pods(namespace).Delete(limited, name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid},
		})
		return func() {
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				w.log.V(1).Info("Pod is not removed", "pod", namespace+"/"+name, "reason", err.Error())
				w.deleted = false
				w.clock.AfterFunc(deleteRetry, func() { w.mail.post(func() {}) })
			}
		}
	})
}
