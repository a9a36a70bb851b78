package podstatus

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

// A write that was carried out, but whose answer was lost, is not taken for one that was not: what has changed back
// meanwhile would never be written, and a container that is ready would count as one that is not.
func TestStatusWriter_AnswerLost_WritesAgain(t *testing.T) {
	t.Parallel()
	status := func(ready bool) *corev1.PodStatus {
		return &corev1.PodStatus{Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", Ready: ready}}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1"}, Status: *status(true)}
	c := fake.NewClientset(pod)
	answered := true
	var s *Writer
	c.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if answered {
			return false, nil, nil
		}
		answered = true
		changed := pod.DeepCopy()
		changed.Status = *status(false)
		if err := c.Tracker().Update(action.GetResource(), changed, action.GetNamespace()); err != nil {
			t.Error(err)
		}
		s.Want(status(true)) // it recovers while the answer is on its way
		return true, nil, errors.New("no answer")
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	written := make(chan struct{}, 1)
	s = NewWriter(c, clock.RealClock{}, testr.New(t), pod, func() { written <- struct{}{} })
	s.Want(status(true))
	answered = false
	s.Want(status(false))
	go s.Run(ctx)
	got := statusOnce(ctx, t, written, c)
	if len(got.ContainerStatuses) != 1 || !got.ContainerStatuses[0].Ready {
		t.Errorf("in the end the API server has %+v", got)
	}
}

// Who takes Ready from a pod because its node was not heard of does not have the last word.
func TestAStatusThatSomebodyElseHasWritten(t *testing.T) {
	t.Parallel()
	status := func(ready corev1.ConditionStatus) *corev1.PodStatus {
		return &corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}, {Type: "theirs", Status: ready}}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1"},
		Status: *status(corev1.ConditionTrue)}
	changed := pod.DeepCopy()
	changed.Status = *status(corev1.ConditionFalse)
	c := fake.NewClientset(changed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	written := make(chan struct{}, 1)
	s := NewWriter(c, clock.RealClock{}, testr.New(t), pod, func() { written <- struct{}{} })
	go s.Run(ctx)
	s.Want(status(corev1.ConditionTrue))
	s.Saw(pod)
	s.Saw(changed)
	got := statusOnce(ctx, t, written, c)
	if diff := cmp.Diff([]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		{Type: "theirs", Status: corev1.ConditionFalse}}, got.Conditions); diff != "" {
		t.Error(diff)
	}
	s.Saw(&corev1.Pod{Status: *got})
	if !s.UpToDate() {
		t.Error("it would write again")
	}
}

// Nor if that comes while the node writes, or before it knows what to write. What its own writes have outrun is no
// matter.
func TestAStatusThatSomebodyElseWritesMeanwhile(t *testing.T) {
	t.Parallel()
	at := func(version string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1", ResourceVersion: version},
			Status: corev1.PodStatus{Phase: corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	no, yes := corev1.ConditionFalse, corev1.ConditionTrue
	for name, c := range map[string]struct {
		begin, server *corev1.Pod
		early, amid   *corev1.Pod // what comes before the first status is wanted, and while it is written
		writes        int
	}{
		"before the first":    {begin: at("1", yes), server: at("2", no), early: at("2", no), writes: 1},
		"in the middle":       {begin: at("1", no), server: at("1", no), amid: at("3", no), writes: 2},
		"an old one, by then": {begin: at("1", no), server: at("1", no), amid: at("1", no), writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(c.server)
			var s *Writer
			writes := 0
			client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if writes++; writes > 1 || c.amid == nil {
					return false, nil, nil
				}
				now := c.amid
				if c.amid.ResourceVersion == c.begin.ResourceVersion {
					now = at("2", yes) // it is our own write that the server has last
				}
				if err := client.Tracker().Update(action.GetResource(), now, action.GetNamespace()); err != nil {
					t.Error(err)
				}
				s.Saw(c.amid)
				return true, at("2", yes), nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			written := make(chan struct{}, 1)
			s = NewWriter(client, clock.RealClock{}, testr.New(t), c.begin, func() { written <- struct{}{} })
			if c.early != nil {
				s.Saw(c.early)
			}
			s.Want(&at("", yes).Status)
			go s.Run(ctx)
			if got := statusOnce(ctx, t, written, client); got.Conditions[0].Status != yes || writes != c.writes {
				t.Errorf("after %d writes the API server has %+v, want %d", writes, got.Conditions, c.writes)
			}
		})
	}
}

// statusOnce is what the API server has when the writer has written.
func statusOnce(ctx context.Context, t *testing.T, written <-chan struct{}, c kubernetes.Interface) *corev1.PodStatus {
	t.Helper()
	select {
	case <-written:
	case <-ctx.Done():
		t.Fatal("nothing was written")
	}
	pod, err := c.CoreV1().Pods("n").Get(ctx, "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &pod.Status
}

// TestStatusPatch leaves alone what others have written since, and what has not changed.
func TestStatusPatch(t *testing.T) {
	t.Parallel()
	from := &corev1.PodStatus{Phase: corev1.PodPending, HostIP: "127.0.0.1", Conditions: []corev1.PodCondition{
		{Type: "others.dev/gate", Status: corev1.ConditionFalse},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse},
	}}
	to := from.DeepCopy()
	to.Phase = corev1.PodRunning
	to.Conditions[0].Status, to.Conditions[1].Status = corev1.ConditionTrue, corev1.ConditionTrue
	content, err := statusPatch("u", from, to)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"uid": "u"},
		"status": map[string]any{
			"phase":                       "Running",
			"$setElementOrder/conditions": []any{map[string]any{"type": "Ready"}},
			"conditions":                  []any{map[string]any{"type": "Ready", "status": "True"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
