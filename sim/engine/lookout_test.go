package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/diagnosis"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// owned is a world whose pods are all of one third-party extension.
type owned struct{ *worldtest.World }

var _ world.PodOwners = owned{}

func (owned) OwnerOf(cluster string, _ *corev1.Pod) (world.PodOwner, bool) {
	return world.PodOwner{Actor: "vault-" + cluster, Extension: "vault"}, true
}

// crashing puts a pod on seed a that has ended again and again.
func crashing(t *testing.T, clients *world.Clients) {
	t.Helper()
	seed, err := clients.Cluster("a")
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "extension-vault", Name: "vault-0"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "vault"}}},
	}
	if err := seed.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	before := pod.DeepCopy()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "vault", RestartCount: 3,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ContainerID: "run-4", ExitCode: 3, Reason: "Error", StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
		}},
	}}
	if err := seed.Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func runnerOn(t *testing.T, w world.World) (*runner, *timeline.Journal) {
	t.Helper()
	clients, err := world.NewClients(w)
	if err != nil {
		t.Fatal(err)
	}
	j := timeline.NewJournal(clock.RealClock{}, nil)
	r := &runner{scope: &scope{
		Options: Options{Scenario: &scenario.Scenario{}, World: w, Journal: j, Clock: clock.RealClock{},
			Patience: Patience{SetUp: time.Hour}},
		clients: clients, observers: newObservers(clock.RealClock{}, j),
	}}
	t.Cleanup(r.observers.stop)
	return r, j
}

// comesNever waits for what never comes, as long as it is let.
func comesNever(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	<-ctx.Done()
	return errors.New("the shoots were not ready")
}

func TestWatchedFor_ExtensionThatCrashes_EndsTheSetUp(t *testing.T) {
	t.Parallel()
	r, _ := runnerOn(t, owned{worldtest.New(t, "a", "b")})
	crashing(t, r.clients)
	err := r.watchedFor(t.Context(), comesNever)
	never := (*diagnosis.NeverUpError)(nil)
	if !errors.As(err, &never) || !strings.Contains(err.Error(),
		"the extension vault never came up on seed a: exit code 3, restarts: 3") {
		t.Errorf("%v", err)
	}
	if err := r.explained(t.Context(), errors.New("late")); !strings.HasPrefix(err.Error(),
		"late\nnot up by then:\nthe extension vault never came up on seed a") {
		t.Errorf("in the middle of a run: %v", err)
	}
}

func TestWatchedFor_WorldWithoutPodOwners_AddsNothing(t *testing.T) {
	t.Parallel()
	r, _ := runnerOn(t, worldtest.New(t, "a", "b"))
	crashing(t, r.clients)
	late := errors.New("late")
	if err := r.watchedFor(t.Context(), func(context.Context) error {
		return late
	}); !errors.Is(err, late) || err.Error() != "late" {
		t.Errorf("%v", err)
	}
	if err := r.explained(t.Context(), late); err.Error() != "late" {
		t.Errorf("%v", err)
	}
}

func TestFollowEnds_CrashedActor_IsRecorded(t *testing.T) {
	t.Parallel()
	r, j := runnerOn(t, owned{worldtest.New(t, "a", "b")})
	crashing(t, r.clients)
	if err := r.followEnds(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for e := range j.Follow(ctx) {
		if p, is := e.Payload.(timeline.ActorEnded); is {
			if e.Subject != "vault-a" || p.ExitCode != 3 || p.Restarts != 3 || p.LogUnread == "" {
				t.Errorf("%s: %+v", e.Subject, p)
			}
			return
		}
	}
	t.Fatal("the end is not on the timeline")
}
