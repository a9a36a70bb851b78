// Package leftovers removes the control plane of an epoch that is over from a seed. It touches nothing outside the seed
// but the seed's own bucket.
package leftovers

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/extensions"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workers"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Leftovers are what an epoch that is over has left on this seed.
type Leftovers struct {
	*scope.Scope
	ownership *owner.Ownership
	entries   *backupentry.Entries
	objects   *contract.Objects
	workers   *workers.Workers
	namespace *namespace.Namespace
	cluster   *extensions.Cluster
}

// New makes it over a scope.
func New(s *scope.Scope) *Leftovers {
	return &Leftovers{
		Scope: s, ownership: owner.New(s), entries: &backupentry.Entries{Scope: s}, objects: &contract.Objects{Scope: s},
		workers: workers.NewWorkers(s), namespace: namespace.New(s), cluster: &extensions.Cluster{Scope: s},
	}
}

// timeout bounds each step of a removal.
const timeout = 5 * time.Minute

// Remove removes the control plane of an epoch that is over from this seed. Nothing outside the seed is
// touched: whoever would act on the cloud is stopped first, and the objects that stand for something there lose their
// finalizers, as after a migration. It may be repeated. What is to be done further, once nobody acts any more, is done
// before the namespace goes, whose existence means that there are leftovers.
func (l *Leftovers) Remove(ctx context.Context, further ...func(context.Context) error) error {
	steps := []func(context.Context) error{
		l.abandon, l.stopEverything, l.workers.ShallowDeleteMachines, l.deleteExtensions, l.deleteManagedResources,
	}
	for _, step := range append(append(steps, further...), l.deleteBackupEntries, l.namespace.Delete,
		l.cluster.Delete) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// abandon takes the epoch off the namespace: without etcd it is what extensions take their right from.
func (l *Leftovers) abandon(ctx context.Context) error {
	return l.ownership.Advance(ctx, tenure.Abandoned, 0)
}

// stopEverything deletes all workloads of the control plane and waits until no pod is left.
func (l *Leftovers) stopEverything(ctx context.Context) error {
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	for _, object := range []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		if err := l.Seed.DeleteAllOf(ctx, object, client.InNamespace(l.Namespace()), background); err != nil {
			return fmt.Errorf("delete the workloads %T in %q: %w", object, l.Namespace(), err)
		}
	}
	hurried := map[types.UID]bool{} // the cache may be behind
	return l.Await(ctx, timeout, "the end of all pods in "+l.Namespace(), func(ctx context.Context,
		seed client.Reader) error {
		pods := &corev1.PodList{}
		if err := seed.List(ctx, pods, client.InNamespace(l.Namespace())); err != nil {
			return err
		}
		for i := range pods.Items {
			if err := l.hurry(ctx, &pods.Items[i], hurried); err != nil {
				return err
			}
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods are left, among them %q", len(pods.Items), pods.Items[0].Name)
		}
		return nil
	})
}

// hurry cuts short the grace of an API server that ends: its etcd is fenced, or has ended before it, and it would wait
// for that one until it is killed. All others have somebody to take leave of.
func (l *Leftovers) hurry(ctx context.Context, pod *corev1.Pod, hurried map[types.UID]bool) error {
	if hurried[pod.UID] || pod.Labels[constants.LabelRole] != workload.KubeAPIServer || pod.DeletionTimestamp == nil ||
		ptr.Deref(pod.DeletionGracePeriodSeconds, 0) <= 1 {
		return nil
	}
	err := l.Seed.Delete(ctx, pod, client.GracePeriodSeconds(1), client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("end pod %q sooner: %w", pod.Name, err)
	}
	hurried[pod.UID] = true
	return nil
}

// deleteExtensions deletes the extension objects of the shoot without what they stand for.
func (l *Leftovers) deleteExtensions(ctx context.Context) error {
	for _, kind := range extensionsv1alpha1.Kinds() {
		if !kind.Namespaced {
			continue
		}
		objects, err := l.objects.List(ctx, kind.Name)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := l.shallowly(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteManagedResources deletes the ManagedResources; the objects they stand for are the shoot's, and stay.
func (l *Leftovers) deleteManagedResources(ctx context.Context) error {
	resources := &resourcesv1alpha1.ManagedResourceList{}
	if err := l.Seed.List(ctx, resources, client.InNamespace(l.Namespace())); err != nil {
		return fmt.Errorf("list the managed resources: %w", err)
	}
	for i := range resources.Items {
		if err := l.shallowly(ctx, &resources.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// deleteBackupEntries deletes the extension's BackupEntries of the shoot, which live outside the namespace, and
// their credentials.
func (l *Leftovers) deleteBackupEntries(ctx context.Context) error {
	entries, err := l.entries.OnSeed(ctx)
	if err != nil {
		return err
	}
	for i := range entries {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: constants.SecretNamePrefixBackupEntry + entries[i].Name,
			Namespace: constants.GardenNamespace}}
		// The entry last: it is what the secret is found by. Its extension has a finalizer on both.
		for _, object := range []client.Object{secret, &entries[i]} {
			if err := l.shallowly(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// shallowly takes the finalizers off an object and deletes it, and looks until it is gone: an extension that has just
// begun to work on it may set its finalizer again. An object that was listed is not read again at first.
func (l *Leftovers) shallowly(ctx context.Context, object client.Object) error {
	known := object.GetResourceVersion() != ""
	return l.Until(ctx, timeout, "the shallow deletion of "+objects.Name(object, l.Seed.Scheme()),
		func(ctx context.Context) (err error) {
			if known {
				err = l.release(ctx, object)
			}
			// What was listed may be long ago: others may have written it, or made it anew.
			if !known || apierrors.IsConflict(err) {
				if err = objects.Read(ctx, l.Seed, object); err == nil {
					err = l.release(ctx, object)
				}
			}
			known = false
			return client.IgnoreNotFound(err)
		})
}

// release takes the finalizers off the object as it was read, and deletes it.
func (l *Leftovers) release(ctx context.Context, object client.Object) error {
	err := patch.LockedObject(ctx, l.Seed, object, func() {
		object.SetFinalizers(nil)
		contract.Confirm(object)
	})
	if back := object.GetFinalizers(); err == nil && len(back) > 0 {
		err = fmt.Errorf("the finalizers %q are there again", back)
	}
	if err != nil {
		return err
	}
	// Only as it is now: with a finalizer that came back, a deletion would be a real one. One that succeeds leaves
	// nothing behind, as there is no finalizer.
	uid, version := object.GetUID(), object.GetResourceVersion()
	return l.Seed.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}
