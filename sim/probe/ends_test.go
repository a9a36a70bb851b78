package probe_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// labelled pods are whose their labels say.
type labelled struct{}

var _ world.PodOwners = labelled{}

func (labelled) OwnerOf(cluster string, pod *corev1.Pod) (world.PodOwner, bool) {
	name := pod.Labels["extension"]
	return world.PodOwner{Actor: name + "-" + cluster, Extension: name}, name != ""
}

var began = time.Date(2026, 1, 2, 12, 0, 0, 500_000_000, time.UTC)

func endOf(run string, code int32, after time.Duration) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ContainerID: run, ExitCode: code, Reason: "Error",
		FinishedAt: metav1.NewTime(began.Add(after).Truncate(time.Second))}
}

func actorPod(name string, labels map[string]string, status corev1.ContainerStatus) *corev1.Pod {
	status.Name = "main"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}},
	}
}

// likeAServer gives what is watched in the form that was asked for, which the fake client does not.
var likeAServer = interceptor.Funcs{
	Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		options ...client.ListOption) (watch.Interface, error) {
		typed, err := c.Watch(ctx, list, options...)
		if err != nil {
			return nil, err
		}
		return watch.Filter(typed, func(e watch.Event) (watch.Event, bool) {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.Object)
			e.Object = &unstructured.Unstructured{Object: content}
			return e, err == nil
		}), nil
	},
}

// An end is recorded once, with how it was and what was said, whether it is found in a list or sent by a watch.
func TestEnds_EachEndOfAnActor_IsRecordedOnce(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	vault := map[string]string{"extension": "vault"}
	ended := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: endOf("run-1", 3, 0)}}
	initialized := actorPod("initialized", vault, corev1.ContainerStatus{})
	initialized.Status = corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "init",
		State: corev1.ContainerState{Terminated: endOf("init", 0, 0)}}}}
	leaving := actorPod("leaving", vault, ended)
	leaving.Finalizers = []string{"kept"}
	pods := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&corev1.Pod{}).WithInterceptorFuncs(
		likeAServer).WithObjects(
		actorPod("early", vault,
			corev1.ContainerStatus{State: corev1.ContainerState{Terminated: endOf("old", 9, -time.Minute)}}),
		actorPod("of-nobody", nil, ended), leaving, initialized, actorPod("vault-0", vault, ended),
	).Build()
	if err := pods.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	j := journal()
	ends := &probe.Ends{Cluster: "a", Pods: pods, API: kubernetesfake.NewClientset(actorPod("vault-0", vault, ended)),
		Owners: labelled{}, Since: began}
	var found []timeline.ActorEnded
	recorded := func() int {
		found = nil
		for e, p := range timeline.Of[timeline.ActorEnded](j.Events()) {
			if e.Subject != "vault-a" || e.Actor != world.Observer {
				t.Errorf("%s of %s", e.Actor, e.Subject)
			}
			found = append(found, p)
		}
		return len(found)
	}
	for round := range 2 { // the second finds nothing new in its list
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- ends.Follow(ctx, j) }()
		if round == 1 {
			worldtest.Until(t, func() bool {
				vault0 := &corev1.Pod{}
				if err := pods.Get(t.Context(), client.ObjectKey{Namespace: "x", Name: "vault-0"}, vault0); err != nil {
					t.Fatal(err)
				}
				vault0.Status.Message += "." // a fake client's watch sends nothing from before it, and no update without a change
				vault0.Status.ContainerStatuses[0] = corev1.ContainerStatus{
					Name: "main", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
						ContainerID: "run-2", ExitCode: 137, Signal: 9, Reason: "OOMKilled", Message: "too much",
						FinishedAt: metav1.NewTime(began.Add(time.Minute)),
					}},
				}
				if err := pods.Status().Update(t.Context(), vault0); err != nil {
					t.Fatal(err)
				}
				return recorded() == 2
			})
		}
		worldtest.Until(t, func() bool { return recorded() == round+1 })
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	want := []timeline.ActorEnded{
		{Who: "vault-a", Extension: "vault", Cluster: "a", Pod: "x/vault-0", Container: "main", ExitCode: 3, Reason: "Error",
			Ended: "2026-01-02T12:00:00Z", Log: []string{"fake logs"}},
		{Who: "vault-a", Extension: "vault", Cluster: "a", Pod: "x/vault-0", Container: "main", ExitCode: 137, Signal: 9,
			Reason: "OOMKilled", Message: "too much",
			Ended: "2026-01-02T12:01:00Z", Restarts: 2, Log: []string{"fake logs"}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

// A log that may be that of a later run is not given for the one that has ended.
func TestEnds_StartedAgainMeanwhile_HasNoLogOfALaterRun(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	vault := map[string]string{"extension": "vault"}
	ended := corev1.ContainerState{Terminated: endOf("run-1", 255, 0)}
	for _, c := range []struct {
		name string
		now  corev1.ContainerStatus
		read bool
	}{
		{"not at all", corev1.ContainerStatus{State: ended}, true},
		{"once", corev1.ContainerStatus{RestartCount: 1, State: corev1.ContainerState{Terminated: endOf("run-2", 2, 0)}},
			true},
		{"more often", corev1.ContainerStatus{RestartCount: 2,
			State: corev1.ContainerState{Terminated: endOf("run-3", 2, 0)}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pods := fake.NewClientBuilder().WithScheme(scheme).
				WithObjects(actorPod("vault-0", vault, corev1.ContainerStatus{State: ended})).Build()
			j := journal()
			ends := &probe.Ends{
				Cluster: "a", Pods: pods, API: kubernetesfake.NewClientset(actorPod("vault-0", vault, c.now)), Owners: labelled{},
				Since: began,
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- ends.Follow(ctx, j) }()
			worldtest.Until(t, func() bool { return len(j.Events()) == 1 })
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			_, p, _ := timeline.First[timeline.ActorEnded](j.Events())
			if read := len(p.Log) > 0; read != c.read || read == (p.LogUnread != "") {
				t.Errorf("the log is %q, not read because of %q", p.Log, p.LogUnread)
			}
		})
	}
}
