package harm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/sim/world"
)

// WipeEtcd implements world.Breaker. Its hits are the etcds that have lost their data. A seed that cannot be asked
// keeps its own, if it has one; that is an error unless the etcd of the seed that the shoot is on was wiped.
func (i *Injector) WipeEtcd(ctx context.Context, shoot string) (world.Injection, error) {
	pods, unasked := i.etcds(ctx, shoot)
	done := map[string]*wiped{}
	var errs []error
	for _, seed := range i.on.Seeds() {
		if pods[seed] == nil {
			continue
		}
		disk, err := i.wipe(ctx, seed, pods[seed])
		if disk != nil {
			done[seed], err = disk, disk.takeAway(ctx)
		}
		errs = append(errs, err)
	}
	switch {
	case len(pods) == 0:
		return world.Injection{}, errors.Join(fmt.Errorf("wipe the etcd of shoot %q: none runs", shoot), unasked)
	case unasked != nil:
		owner, err := i.on.SeedOf(ctx, shoot)
		if done[owner] == nil {
			errs = append(errs, err, unasked)
		}
	}
	// The disks are new, and stay so: whether etcd gets its data back is for the product.
	heal := func(ctx context.Context) error {
		var errs []error
		for _, disk := range done {
			if !disk.gone {
				errs = append(errs, disk.takeAway(ctx))
			}
		}
		return errors.Join(errs...)
	}
	return world.Injection{Heal: heal, Hits: func() int { return len(done) }}, errors.Join(errs...)
}

// etcds of a shoot by their seeds, and why seeds could not be asked. They are asked at once, if they run anything at
// all.
func (i *Injector) etcds(ctx context.Context, shoot string) (map[string]*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	seeds := i.on.Seeds()
	pods, errs := make([]*corev1.Pod, len(seeds)), make([]error, len(seeds))
	var asked sync.WaitGroup
	for at, seed := range seeds {
		asked.Go(func() {
			running, err := i.on.Containers(ctx, seed, func(process.Program) bool { return true })
			if errs[at] = err; len(running) > 0 {
				pods[at], errs[at] = i.on.Pod(ctx, seed, shoot, workload.Etcd)
			}
		})
	}
	asked.Wait()
	found := map[string]*corev1.Pod{}
	for at, seed := range seeds {
		if pods[at] != nil {
			found[seed] = pods[at]
		}
	}
	return found, errors.Join(errs...)
}

// wiped is an etcd pod on a disk that is empty. Its processes are stopped.
type wiped struct {
	seed      client.Client
	pod       *corev1.Pod
	processes []process.Program
	gone      bool
}

// wipe empties the volumes of a pod. Its processes are stopped before, and never go on: nobody may see the pod without
// its data. It is nil where the pod goes on as it was.
func (i *Injector) wipe(ctx context.Context, seed string, pod *corev1.Pod) (*wiped, error) {
	processes, err := i.on.Containers(ctx, seed, func(c process.Program) bool {
		return c.Env["POD_IP"] == pod.Status.PodIP
	})
	if err != nil {
		return nil, err
	}
	err = signalAll(processes, syscall.SIGSTOP)
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil || err != nil {
			continue
		}
		var folder string
		if folder, err = i.folderOf(ctx, seed, types.NamespacedName{Namespace: pod.Namespace,
			Name: volume.PersistentVolumeClaim.ClaimName}); err == nil {
			err = empty(folder)
		}
	}
	if err != nil {
		return nil, errors.Join(err, signalAll(processes, syscall.SIGCONT))
	}
	return &wiped{seed: i.on.SeedClients[seed], pod: pod, processes: processes}, nil
}

// takeAway the pod from its disk. It may be called again when it has failed. Until it succeeds, the processes stay
// stopped.
func (d *wiped) takeAway(ctx context.Context) error {
	err := d.seed.Delete(ctx, d.pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &d.pod.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) { // else it is another by now, or none
		return fmt.Errorf("take the pod %s/%s away from its disk: %w", d.pod.Namespace, d.pod.Name, err)
	}
	d.gone = true
	return signalAll(d.processes, syscall.SIGKILL)
}

// folderOf a claim on the disk of a seed's node.
func (i *Injector) folderOf(ctx context.Context, seed string, key types.NamespacedName) (string, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := i.on.SeedClients[seed].Get(ctx, key, claim); err != nil {
		return "", fmt.Errorf("read the volume claim %s: %w", key, err)
	}
	volume := &corev1.PersistentVolume{}
	if err := i.on.SeedClients[seed].Get(ctx, types.NamespacedName{Name: claim.Spec.VolumeName}, volume); err != nil {
		return "", fmt.Errorf("read the volume of claim %s: %w", key, err)
	}
	if csi := volume.Spec.CSI; csi != nil && csi.Driver == cloud.CSIDriver && environment.IsHosted(i.on.Landscape, seed) {
		return i.on.Landscape.Dir().Join(program.NodesFolder, program.VolumesFolder, csi.VolumeHandle), nil
	}
	if volume.Spec.HostPath == nil {
		return "", fmt.Errorf("find the folder of volume %q: it is none of this machine", volume.Name)
	}
	return volume.Spec.HostPath.Path, nil
}

// empty a folder, and keep it.
func empty(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("list what is to be wiped: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(folder, entry.Name())))
	}
	return errors.Join(errs...)
}
