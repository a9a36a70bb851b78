package clustertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	awaitBound = 90 * time.Second // on a machine with all cores busy
	awaitPoll  = 150 * time.Millisecond
)

// fixture is the namespace of one case and what the case may do there. Its methods end the case when they fail.
type fixture struct {
	*testing.T
	config    *rest.Config
	client    kubernetes.Interface
	image     string
	namespace string
}

// await polls until look is content; the last mismatch explains a timeout.
func (f *fixture) await(what string, look func(ctx context.Context) error) {
	f.Helper()
	var last error
	err := wait.PollUntilContextTimeout(f.Context(), awaitPoll, awaitBound, true, func(ctx context.Context) (bool, error) {
		last = look(ctx)
		return last == nil, nil
	})
	if err != nil {
		f.Fatalf("wait for %s: %v: %v", what, err, last)
	}
}

// awaitServiceAccount waits for what every pod in a new namespace needs.
func (f *fixture) awaitServiceAccount() {
	f.Helper()
	f.await("the namespace's service account", func(ctx context.Context) error {
		_, err := f.client.CoreV1().ServiceAccounts(f.namespace).Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = f.client.CoreV1().ConfigMaps(f.namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
}

// awaitPod waits until a pod is as it should be, and returns it.
func (f *fixture) awaitPod(name string, checks ...check) *corev1.Pod {
	f.Helper()
	var pod *corev1.Pod
	f.await("pod "+name, func(ctx context.Context) error {
		var err error
		if pod, err = f.client.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		return all(checks)(pod)
	})
	return pod
}

// delete deletes a pod, waits until it is gone, and returns it as it was seen last.
func (f *fixture) delete(name string) *corev1.Pod {
	f.Helper()
	watcher, err := f.client.CoreV1().Pods(f.namespace).Watch(f.Context(),
		metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	if err != nil {
		f.Fatalf("watch pod %s: %v", name, err)
	}
	defer watcher.Stop()
	if err := f.client.CoreV1().Pods(f.namespace).Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.Fatalf("delete pod %s: %v", name, err)
	}
	timeout := time.NewTimer(awaitBound)
	defer timeout.Stop()
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open {
				f.Fatalf("watch pod %s: the watch has ended", name)
			}
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type == "DELETED" {
				return pod
			}
		case <-timeout.C:
			f.Fatalf("pod %s is not gone after %s", name, awaitBound)
		}
	}
}

// awaitEvent waits for an event about a pod with a text in its message.
func (f *fixture) awaitEvent(pod, reason, text string) {
	f.Helper()
	f.await("event "+reason+" of "+pod, func(ctx context.Context) error {
		selector := "involvedObject.name=" + pod
		events, err := f.client.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			return err
		}
		var seen []string
		for _, event := range events.Items {
			if event.Reason == reason && strings.Contains(event.Message, text) {
				return nil
			}
			seen = append(seen, event.Reason+": "+event.Message)
		}
		return fmt.Errorf("seen %q", seen)
	})
}

// patchStatus changes a pod's status as some other controller would.
func (f *fixture) patchStatus(pod, patch string) {
	f.Helper()
	_, err := f.client.CoreV1().Pods(f.namespace).Patch(f.Context(), pod, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status")
	if err != nil {
		f.Fatalf("patch the status of pod %s: %v", pod, err)
	}
}

// forceDelete deletes a pod that would take its time otherwise.
func (f *fixture) forceDelete(pod string) {
	f.Helper()
	now := int64(0)
	if err := f.client.CoreV1().Pods(f.namespace).Delete(f.Context(), pod,
		metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		f.Fatalf("delete pod %s: %v", pod, err)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
