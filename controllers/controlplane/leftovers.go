package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// leftoversTimeout bounds each step of a removal.
const leftoversTimeout = 5 * time.Minute

// RemoveLeftovers removes the control plane of an epoch that is over from this seed. Nothing outside the seed is
// touched: whoever would act on the cloud is stopped first, and the objects that stand for something there lose their
// finalizers, as after a migration. It may be repeated. What is to be done further, once nobody acts any more, is done
// before the namespace goes, whose existence means that there are leftovers.
func (o *Operation) RemoveLeftovers(ctx context.Context, further ...func(context.Context) error) error {
	steps := []func(context.Context) error{
		o.abandon, o.stopEverything, o.ShallowDeleteMachines, o.shallowDeleteExtensions, o.shallowDeleteManagedResources,
	}
	for _, step := range append(append(steps, further...), o.shallowDeleteBackupEntries, o.DeleteNamespace,
		o.DeleteCluster) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// PurgeBackups removes what the shoot has left in this seed's bucket, unless its backups are there: a seed that comes
// back uploads what belongs to no chain any more (docs/ownership.md#o7).
func (o *Operation) PurgeBackups(ctx context.Context) error {
	if o.Shoot.Status.UID == "" {
		return nil // its backups have no name: they went before
	}
	for _, name := range []string{o.BackupEntryName(), sourcePrefix + o.BackupEntryName()} {
		entry, err := o.backupEntry(ctx, name)
		if err != nil {
			return err
		}
		if entry != nil && entry.Spec.BucketName == o.BucketName() {
			return nil
		}
	}
	return o.Bucket.Purge(ctx, o.BucketName(), o.BackupPrefix())
}

// abandon takes the epoch off the namespace: without etcd it is what extensions take their right from.
func (o *Operation) abandon(ctx context.Context) error {
	return o.Advance(ctx, tenure.Abandoned, 0)
}

// stopEverything deletes all workloads of the control plane and waits until no pod is left.
func (o *Operation) stopEverything(ctx context.Context) error {
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	for _, object := range []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		if err := o.Seed.DeleteAllOf(ctx, object, client.InNamespace(o.Namespace()), background); err != nil {
			return fmt.Errorf("delete the workloads %T in %q: %w", object, o.Namespace(), err)
		}
	}
	return o.Until(ctx, leftoversTimeout, "the end of all pods in "+o.Namespace(), func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := o.Seed.List(ctx, pods, client.InNamespace(o.Namespace())); err != nil {
			return err
		}
		for i := range pods.Items {
			if err := o.hurry(ctx, &pods.Items[i]); err != nil {
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
func (o *Operation) hurry(ctx context.Context, pod *corev1.Pod) error {
	if pod.Labels[constants.LabelRole] != DeploymentKubeAPIServer || pod.DeletionTimestamp == nil ||
		ptr.Deref(pod.DeletionGracePeriodSeconds, 0) <= 1 {
		return nil
	}
	err := o.Seed.Delete(ctx, pod, client.GracePeriodSeconds(1), client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("end pod %q sooner: %w", pod.Name, err)
	}
	return nil
}

// shallowDeleteExtensions deletes the extension objects of the shoot without what they stand for.
func (o *Operation) shallowDeleteExtensions(ctx context.Context) error {
	for _, kind := range extensionsv1alpha1.Kinds() {
		if !kind.Namespaced {
			continue
		}
		objects, err := o.List(ctx, kind.Name)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := o.shallowly(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// shallowDeleteManagedResources deletes the ManagedResources; the objects they stand for are the shoot's, and stay.
func (o *Operation) shallowDeleteManagedResources(ctx context.Context) error {
	resources := &resourcesv1alpha1.ManagedResourceList{}
	if err := o.Seed.List(ctx, resources, client.InNamespace(o.Namespace())); err != nil {
		return fmt.Errorf("list the managed resources: %w", err)
	}
	for i := range resources.Items {
		if err := o.shallowly(ctx, &resources.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// shallowDeleteBackupEntries deletes the extension's BackupEntries of the shoot, which live outside the namespace, and
// their credentials.
func (o *Operation) shallowDeleteBackupEntries(ctx context.Context) error {
	entries, err := o.ownBackupEntries(ctx)
	if err != nil {
		return err
	}
	for i := range entries {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: constants.SecretNamePrefixBackupEntry + entries[i].Name,
			Namespace: constants.GardenNamespace}}
		// The entry last: it is what the secret is found by. Its extension has a finalizer on both.
		for _, object := range []client.Object{secret, &entries[i]} {
			if err := o.shallowly(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownBackupEntries are the extension's BackupEntries that are named after the control-plane namespace.
func (o *Operation) ownBackupEntries(ctx context.Context) ([]extensionsv1alpha1.BackupEntry, error) {
	list := &extensionsv1alpha1.BackupEntryList{}
	if err := o.Seed.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the backup entries of the extension: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(entry extensionsv1alpha1.BackupEntry) bool {
		return NamespaceOfBackupEntry(entry.Name) != o.Namespace()
	}), nil
}

// shallowly takes the finalizers off an object and deletes it, and looks until it is gone: an extension that has just
// begun to work on it may set its finalizer again.
func (o *Operation) shallowly(ctx context.Context, object client.Object) error {
	return o.Until(ctx, leftoversTimeout, "the shallow deletion of "+name(object, o.Seed.Scheme()),
		func(ctx context.Context) error {
			err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object)
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			before := object.DeepCopyObject().(client.Object)
			object.SetFinalizers(nil)
			metav1.SetMetaDataAnnotation(objectMeta(object), constants.ConfirmationDeletion, constants.LabelTrue)
			if err := o.Seed.Patch(ctx, object, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
				return err
			}
			// Only as it is now: with a finalizer that came back, a deletion would be a real one.
			uid, version := object.GetUID(), object.GetResourceVersion()
			asSeen := client.Preconditions{UID: &uid, ResourceVersion: &version}
			if err := o.Seed.Delete(ctx, object, asSeen); client.IgnoreNotFound(err) != nil {
				return err
			}
			if err := o.Seed.Get(ctx, client.ObjectKeyFromObject(object), object); apierrors.IsNotFound(err) {
				return nil
			}
			return errors.New("it is still there")
		})
}

// Abandoned makes the Operation for what a shoot that is no more has left in a namespace of this seed; nil if the
// namespace is nobody's, or its shoot is there. The shoot's UID is known by the name of its backups.
func (f *Factory) Abandoned(ctx context.Context, log logr.Logger, namespace *corev1.Namespace) (*Operation, error) {
	key, known := ShootOf(namespace)
	if !known {
		return nil, nil
	}
	o, err := f.Operation(ctx, log, key)
	if o != nil || err != nil {
		return nil, err
	}
	seed := &gardencorev1beta1.Seed{}
	if err := f.Garden.Get(ctx, client.ObjectKey{Name: f.SeedName}, seed); err != nil {
		return nil, fmt.Errorf("read seed %q: %w", f.SeedName, err)
	}
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}
	shoot.Status.TechnicalID = namespace.Name
	o = f.operation(log, shoot, seed)
	entries, err := o.ownBackupEntries(ctx)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		shoot.Status.UID = types.UID(strings.TrimPrefix(strings.TrimPrefix(entry.Name, sourcePrefix), namespace.Name+"--"))
	}
	return o, nil
}
