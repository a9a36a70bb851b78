package environment

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/sim/diagnosis"
	"github.com/transplant-sim/transplant/sim/landscape"
)

const (
	// actorTimeout is long, for a machine that is slow.
	actorTimeout = 3 * time.Minute
	actorPoll    = 50 * time.Millisecond
)

// watched brings something up on some clusters. It ends as soon as one actor is not worth waiting for, and says which.
func (s *Environment) watched(ctx context.Context, l Landscape, on []string,
	bringUp func(context.Context, Landscape) error) error {
	lookout, err := diagnosis.NewLookout(diagnosis.Options{
		Clusters: on, Extensions: s.Extensions, Owners: Owners{}, Clock: clock.RealClock{}, Patience: actorTimeout,
		PortHolders: s.portHolders,
		Connect:     func(cluster string) (*rest.Config, error) { return observer(l, cluster) },
	})
	if err != nil {
		return err
	}
	watched, stop := lookout.Watch(ctx)
	err = bringUp(watched, l)
	stop()
	if err = lookout.Why(ctx, watched, err); err != nil {
		s.named = namesOf(context.WithoutCancel(ctx), l)
	}
	return err
}

// awaitActors waits until every Deployment of a cluster is available: nothing else runs there yet.
func awaitActors(ctx context.Context, c client.Client, cluster string) error {
	err := ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error { return CheckActors(ctx, c) })
	if err != nil {
		return fmt.Errorf("wait for the actors of cluster %q: %w", cluster, err)
	}
	return nil
}

// CheckActors names the first Deployment of a cluster that is not available.
func CheckActors(ctx context.Context, c client.Client) error {
	deployments := &appsv1.DeploymentList{}
	if err := c.List(ctx, deployments); err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas < ptr.Deref(d.Spec.Replicas, 1) {
			return fmt.Errorf("%s/%s is not available", d.Namespace, d.Name)
		}
	}
	return nil
}

// awaitSeed waits until the gardenlet has reported to the garden that the seed can take shoots, and has its bucket.
func awaitSeed(ctx context.Context, garden client.Client, name string) error {
	err := ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error {
		seed := &gardencorev1beta1.Seed{}
		if err := garden.Get(ctx, client.ObjectKey{Name: name}, seed); err != nil {
			return err
		}
		if !gardenletReady(seed) {
			return errors.New("it is not ready")
		}
		bucket := &gardencorev1beta1.BackupBucket{}
		if err := garden.Get(ctx, client.ObjectKey{Name: string(seed.UID)}, bucket); err != nil {
			return err
		}
		if last := bucket.Status.LastOperation; last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded {
			return fmt.Errorf("the backup bucket %q is not ready", bucket.Name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for the gardenlet of seed %q: %w", name, err)
	}
	return nil
}

func gardenletReady(seed *gardencorev1beta1.Seed) bool {
	for _, condition := range seed.Status.Conditions {
		if condition.Type == gardencorev1beta1.SeedGardenletReady {
			return condition.Status == gardencorev1beta1.ConditionTrue
		}
	}
	return false
}

// resume starts the pods of a checkpoint, and waits until all run again. What the API servers say of pods is of before
// the checkpoint at first, so the times in it decide.
//
// On a seed, gardenlet and provider wait until the control planes of its shoots are ready. They would find these
// unwell, and say so, as after a loss of the seed. garden-controller-manager starts when all seeds have been heard of:
// it would take those for silent that take long.
func (s *Environment) resume(ctx context.Context, l *embedded.Landscape) error {
	began := metav1.Now().Rfc3339Copy() // no node runs yet
	garden, err := ObserverClient(l, landscape.Garden)
	if err == nil {
		err = s.published.watch(ctx, l)
	}
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, seed := range Seeds(l) {
		group.Go(func() error { return resumeSeed(groupCtx, l, seed, began) })
	}
	group.Go(func() error {
		if err := awaitHeartbeats(groupCtx, garden, Seeds(l), began.Time); err != nil {
			return err
		}
		return resumeNode(groupCtx, l, landscape.Garden, began, everyPod)
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("start the checkpoint: %w", err)
	}
	return nil
}

func resumeSeed(ctx context.Context, l *embedded.Landscape, seed string, began metav1.Time) error {
	cluster, err := l.Cluster(seed)
	if err != nil {
		return err
	}
	release := pauseActors(ctx, cluster.(*embedded.Cluster))
	err = resumeNode(ctx, l, seed, began, func(pod *corev1.Pod) bool { return pod.Labels[constants.LabelRole] != "" })
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	return resumeNode(ctx, l, seed, began, everyPod)
}

func everyPod(*corev1.Pod) bool { return true }

// resumeNode starts the node of a cluster, if it does not run, and waits until those of its pods run again that are
// wanted.
func resumeNode(ctx context.Context, l *embedded.Landscape, name string, began metav1.Time,
	wanted func(*corev1.Pod) bool) error {
	c, err := ObserverClient(l, name)
	if err != nil {
		return err
	}
	cluster, err := l.Cluster(name)
	if err != nil {
		return err
	}
	if err := cluster.(clusters.Killer).Revive(ctx, embedded.NodeProgram); err != nil {
		return err
	}
	return awaitRestarted(ctx, c, name, began, wanted)
}

// pausePoll is shorter than a program of ours takes to reach any API.
const pausePoll = 20 * time.Millisecond

// pauseActors stops gardenlet and provider of a seed as soon as they are started, until the returned function is
// called.
func pauseActors(ctx context.Context, c *embedded.Cluster) (release func() error) {
	ctx, cancel := context.WithCancel(ctx)
	paused := map[process.ID]process.Program{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			found, _ := c.Containers(ctx) // else it is looked again
			for _, p := range found {
				if _, is := paused[p.ID]; !is && isPaused(p) && p.Signal(syscall.SIGSTOP) == nil {
					paused[p.ID] = p
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(pausePoll):
			}
		}
	}()
	return func() error {
		cancel()
		<-done
		var errs []error
		for _, p := range paused {
			errs = append(errs, p.Signal(syscall.SIGCONT))
		}
		return errors.Join(errs...)
	}
}

func isPaused(p process.Program) bool {
	return len(p.Args) > 1 && (p.Args[1] == "gardenlet" || p.Args[1] == "extensions")
}

// awaitHeartbeats waits until all seeds have renewed their leases since then.
func awaitHeartbeats(ctx context.Context, garden client.Client, seeds []string, since time.Time) error {
	err := ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error {
		for _, seed := range seeds {
			lease := &coordinationv1.Lease{}
			key := client.ObjectKey{Namespace: constants.SeedLeaseNamespace, Name: seed}
			if err := garden.Get(ctx, key, lease); err != nil {
				return err
			}
			if lease.Spec.RenewTime == nil || !lease.Spec.RenewTime.After(since) {
				return fmt.Errorf("seed %q has not renewed its lease", seed)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for the heartbeats of the seeds: %w", err)
	}
	return nil
}

// awaitRestarted waits until all containers of the wanted pods have been started since then, and are ready.
func awaitRestarted(ctx context.Context, c client.Client, cluster string, since metav1.Time,
	wanted func(*corev1.Pod) bool) error {
	err := ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := c.List(ctx, pods); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return errors.New("it has no pods")
		}
		for i := range pods.Items {
			if !wanted(&pods.Items[i]) {
				continue
			}
			if err := checkRestarted(&pods.Items[i], since); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for the pods of cluster %q: %w", cluster, err)
	}
	return nil
}

// checkRestarted is an error if a pod that is not over has a container that has not been started since then, or is not
// ready.
func checkRestarted(pod *corev1.Pod, since metav1.Time) error {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	started := 0
	for _, container := range pod.Status.ContainerStatuses {
		if running := container.State.Running; running != nil && container.Ready && !running.StartedAt.Before(&since) {
			started++
		}
	}
	if started < len(pod.Spec.Containers) {
		return fmt.Errorf("%d of %d containers of pod %s/%s run", started, len(pod.Spec.Containers), pod.Namespace,
			pod.Name)
	}
	return nil
}
