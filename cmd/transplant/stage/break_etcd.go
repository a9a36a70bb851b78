package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.DiskWiper = &World{}

// WipeEtcd implements world.DiskWiper. It is felt by every etcd that has lost its data.
func (w *World) WipeEtcd(ctx context.Context, shoot string) (world.Injection, error) {
	wiped := 0
	var errs []error
	for _, seed := range w.Seeds() {
		etcd, err := w.pod(ctx, seed, shoot, controlplane.EtcdName)
		if err == nil && etcd != nil {
			err = w.wipe(ctx, seed, etcd)
			wiped++
		}
		errs = append(errs, err)
	}
	if wiped == 0 {
		return world.Injection{}, errors.Join(append(errs, fmt.Errorf("wipe the etcd of shoot %q: none runs", shoot))...)
	}
	// The disk is new, and stays so: whether etcd gets its data back is for the product.
	heal := func(context.Context) error { return nil }
	return world.Injection{Heal: heal, Touched: func() int { return wiped }}, errors.Join(errs...)
}

// wipe empties the volumes of a pod and takes the pod away, in an order that lets nobody see one without the other: its
// processes are held before, and never go on.
func (w *World) wipe(ctx context.Context, seed string, pod *corev1.Pod) error {
	processes, err := w.containers(ctx, seed, func(c process.Program) bool { return c.Env["POD_IP"] == pod.Status.PodIP })
	if err != nil {
		return err
	}
	if err := signalAll(processes, syscall.SIGSTOP); err != nil {
		return err
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		folder, err := w.folderOf(ctx, seed, types.NamespacedName{Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName})
		if err == nil {
			err = empty(folder)
		}
		if err != nil {
			return errors.Join(err, signalAll(processes, syscall.SIGCONT))
		}
	}
	now := client.GracePeriodSeconds(0)
	if err := w.seeds[seed].Delete(ctx, pod, now, client.Preconditions{UID: &pod.UID}); err != nil {
		return fmt.Errorf("take the pod %s/%s away from its disk: %w", pod.Namespace, pod.Name, err)
	}
	return signalAll(processes, syscall.SIGKILL)
}

// folderOf a claim on the disk of a seed's node.
func (w *World) folderOf(ctx context.Context, seed string, key types.NamespacedName) (string, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := w.seeds[seed].Get(ctx, key, claim); err != nil {
		return "", fmt.Errorf("read the volume claim %s: %w", key, err)
	}
	volume := &corev1.PersistentVolume{}
	if err := w.seeds[seed].Get(ctx, types.NamespacedName{Name: claim.Spec.VolumeName}, volume); err != nil {
		return "", fmt.Errorf("read the volume of claim %s: %w", key, err)
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
