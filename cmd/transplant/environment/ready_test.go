package environment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// A request that takes too long while a landscape starts is no reason to give it up.
func TestAwaitActorsOutlastsFailedRequests(t *testing.T) {
	t.Parallel()
	asked := 0
	ready := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "actor"},
		Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(ready).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if asked++; asked < 3 {
				return errors.New("it took too long")
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	if err := awaitActors(t.Context(), c, "a"); err != nil || asked != 3 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestCheckActors(t *testing.T) {
	t.Parallel()
	deployment := func(generation, observed int64, ready int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "extension-acme", Name: "acme", Generation: generation},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: observed, AvailableReplicas: ready},
		}
	}
	const notReady = "extension-acme/acme is not available"
	for name, c := range map[string]struct {
		acme *appsv1.Deployment
		want string
	}{
		"Ready":              {deployment(1, 1, 1), ""},
		"NoReplicaReady":     {deployment(1, 1, 0), notReady},
		"ChangedAndNotSeen":  {deployment(2, 1, 1), notReady},
		"NeverSeenByAnybody": {deployment(1, 0, 0), notReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckActors(t.Context(), fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(c.acme).Build())
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Errorf("error %q, want %q", got, c.want)
			}
		})
	}
}

// What an API server says of pods is of before a checkpoint, until their node has started them again.
func TestCheckRestarted_StatusOfBefore_IsNotReady(t *testing.T) {
	t.Parallel()
	began := metav1.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	running := func(seconds int, ready bool) corev1.ContainerStatus {
		return corev1.ContainerStatus{Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{
			StartedAt: metav1.NewTime(began.Add(time.Duration(seconds) * time.Second))}}}
	}
	two := corev1.PodSpec{Containers: make([]corev1.Container, 2)}
	for name, c := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"of before": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running(-1, true), running(-9, true)}},
			"0 of 2 containers of pod n/p run"},
		"one of them": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running(0, true)}}, "1 of 2"},
		"one not ready": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running(1, true), running(1, false)}},
			"1 of 2"},
		"both": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running(0, true), running(3, true)}}, ""},
		"over": {corev1.PodStatus{Phase: corev1.PodSucceeded}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Spec: two, Status: c.status}
			err := checkRestarted(pod, began)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Gardenlet and provider are paused, and nothing that a shoot consists of.
func TestIsPaused_ControlPlanes_AreNot(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"transplant gardenlet --x": true, "transplant extensions": true, "transplant gateway": false,
		"transplant etcd-guard": false, "kube-apiserver --x": false, "transplant": false,
	} {
		if got := isPaused(process.Program{Args: strings.Fields(args)}); got != want {
			t.Errorf("%q is paused: %t", args, got)
		}
	}
}

func TestCheckWindow_DuringTheMaintenanceOfShoots_IsAnError(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]bool{
		time.Minute: true, 10 * time.Hour: true, 11*time.Hour + time.Minute: false, 12*time.Hour + 30*time.Minute: false,
		13*time.Hour + 59*time.Minute: false, 15 * time.Hour: true, 24 * time.Hour: true, (72 + 12) * time.Hour: false,
	} {
		if err := CheckWindow("cp", made, made.Add(after)); (err == nil) != want {
			t.Errorf("after %s: %v", after, err)
		}
	}
	window := windowFarFrom(made)
	if window.Begin != "200000+0000" || window.End != "210000+0000" {
		t.Errorf("a shoot that is made then has the window %+v", window)
	}
}
