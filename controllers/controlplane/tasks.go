package controlplane

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

func kindOf(object runtime.Object, scheme *runtime.Scheme) string {
	kinds, _, err := scheme.ObjectKinds(object)
	if err != nil || len(kinds) == 0 {
		return fmt.Sprintf("%T", object)
	}
	return kinds[0].Kind
}

func keyOf(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func unstructuredOf(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func (o *Operation) deployContainerRuntimes(ctx context.Context) error {
	for _, r := range o.ContainerRuntimes() {
		spec := *r.Spec.DeepCopy()
		if err := o.DeployExtension(ctx, r, func() error { r.Spec = spec; return nil }); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operation) waitContainerRuntimes(ctx context.Context) error {
	for _, r := range o.ContainerRuntimes() {
		if err := o.WaitExtension(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// DeleteStaleExtensions deletes the Extension objects that the shoot no longer asks for, and waits until they are gone:
// what they stand for goes with them, which nobody could do after a move (docs/specification/migration.md#spec-2-6,
// docs/specification/migration.md#spec-2-9).
func (o *Operation) DeleteStaleExtensions(ctx context.Context) error {
	extensions, err := o.Extensions(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, extension := range extensions {
		wanted[extension.Name] = true
	}
	return o.deleteStale(ctx, extensionsv1alpha1.ExtensionResource, wanted)
}

// DeleteStaleContainerRuntimes is DeleteStaleExtensions for the runtimes of pools.
func (o *Operation) DeleteStaleContainerRuntimes(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, runtime := range o.ContainerRuntimes() {
		wanted[runtime.Name] = true
	}
	return o.deleteStale(ctx, extensionsv1alpha1.ContainerRuntimeResource, wanted)
}

func (o *Operation) deleteStale(ctx context.Context, kind string, wanted map[string]bool) error {
	objects, err := o.List(ctx, kind)
	if err != nil {
		return err
	}
	return o.deleteObjects(ctx, slices.DeleteFunc(objects, func(object extensionsv1alpha1.Object) bool {
		return wanted[object.GetName()]
	}))
}

// WaitWorker waits until the worker pools are as asked for; after a restore the machine state, which the Worker
// carried only for that, is taken off it (docs/specification/extensions.md#spec-3-7).
func (o *Operation) WaitWorker(ctx context.Context) error {
	worker := o.Worker()
	if err := o.WaitExtension(ctx, worker); err != nil {
		return o.blameWebhooks(ctx, err)
	}
	if worker.Status.State == nil {
		return nil
	}
	before := worker.DeepCopy()
	worker.Status.State = nil
	return describe("clear the machine state of", worker, o.Seed,
		o.Seed.Status().Patch(ctx, worker, client.MergeFrom(before)))
}

// machinesRestored reports whether the Worker extension has restored the machines.
func (o *Operation) machinesRestored(ctx context.Context) (bool, error) {
	worker := o.Worker()
	err := o.Seed.Get(ctx, o.key(worker.Name), worker)
	if client.IgnoreNotFound(err) != nil {
		return false, describe("read", worker, o.Seed, err)
	}
	return err == nil && restored(worker), nil
}

// Hibernate puts the control plane to rest: the workers are gone, and what was attached to them, then the API server,
// then etcd. The DNS records go too; the data stays in etcd's volume and in the backups.
func (o *Operation) Hibernate(ctx context.Context) error {
	if err := o.Until(ctx, 10*time.Minute, "the end of all machines", func(ctx context.Context) error {
		machines := &machinev1alpha1.MachineList{}
		if err := o.Seed.List(ctx, machines, client.InNamespace(o.Namespace())); err != nil {
			return err
		}
		if len(machines.Items) > 0 {
			return fmt.Errorf("%d machines are left, among them %q", len(machines.Items), machines.Items[0].Name)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := o.ReleaseVolumeAttachments(ctx); err != nil {
		return err
	}
	for _, deployment := range []string{DeploymentResourceManager, DeploymentMachineController, DeploymentScheduler,
		DeploymentControllerManager, DeploymentKubeAPIServer} {
		if err := o.Scale(ctx, deployment, 0); err != nil {
			return err
		}
	}
	if err := o.WaitDeployment(ctx, DeploymentKubeAPIServer, 3*time.Minute); err != nil {
		return err
	}
	// Before etcd goes: while it ends nobody says who owns the shoot, and the extension would wait for that.
	if err := o.deleteAll(extensionsv1alpha1.DNSRecordResource)(ctx); err != nil {
		return err
	}
	return o.ScaleEtcd(ctx, 0)
}

// Created reports whether the shoot has been created successfully once: it has had a control plane.
func Created(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	return last != nil && (last.Type != gardencorev1beta1.LastOperationTypeCreate ||
		last.State == gardencorev1beta1.LastOperationStateSucceeded)
}

// Forced reports whether the shoot is to be restored without the help of the seed it comes from
// (docs/ownership.md#spec-9-3).
func Forced(object client.Object) bool {
	return object.GetAnnotations()[constants.ShootForceRestore] == constants.LabelTrue
}

// StoppedRetry is when to look again at a shoot whose seed's operations are stopped: no event reports the end of that.
const StoppedRetry = 15 * time.Second

// Stopped reports whether operators have stopped the operations on the shoots of this seed in an emergency
// (docs/specification/api.md#spec-1-12, docs/specification/migration.md#spec-2-5). What is under way goes on.
func (o *Operation) Stopped() bool {
	return o.SeedObject.Annotations[constants.ShootEmergencyStopReconciliations] == constants.LabelTrue
}

// OperationType is what has to be done for a shoot (docs/specification/migration.md#spec-2-3), first match wins.
func OperationType(shoot *gardencorev1beta1.Shoot) gardencorev1beta1.LastOperationType {
	last, spec, status := shoot.Status.LastOperation, shoot.Spec.SeedName, shoot.Status.SeedName
	switch {
	case spec != nil && status != nil && *spec != *status:
		return gardencorev1beta1.LastOperationTypeMigrate
	case last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate &&
		(last.State == gardencorev1beta1.LastOperationStateSucceeded ||
			last.State == gardencorev1beta1.LastOperationStateAborted):
		return gardencorev1beta1.LastOperationTypeRestore
	case last != nil && last.Type == gardencorev1beta1.LastOperationTypeRestore &&
		last.State != gardencorev1beta1.LastOperationStateSucceeded:
		// Before deletion: what deletion needs is restored first (docs/ownership.md#spec-9-3).
		return gardencorev1beta1.LastOperationTypeRestore
	case shoot.DeletionTimestamp != nil:
		return gardencorev1beta1.LastOperationTypeDelete
	case last == nil:
		return gardencorev1beta1.LastOperationTypeCreate
	case last.State != gardencorev1beta1.LastOperationStateSucceeded &&
		(last.Type == gardencorev1beta1.LastOperationTypeCreate || last.Type == gardencorev1beta1.LastOperationTypeMigrate):
		return last.Type
	}
	return gardencorev1beta1.LastOperationTypeReconcile
}

// ResponsibleSeed is the seed whose gardenlet acts (docs/specification/migration.md#spec-2-3); empty for nobody.
func ResponsibleSeed(spec, status *string) string {
	switch {
	case spec == nil:
		return ""
	case status == nil:
		return *spec
	}
	return *status
}

// List lists the extension objects of one kind in the control-plane namespace.
func (o *Operation) List(ctx context.Context, kind string) ([]extensionsv1alpha1.Object, error) {
	k, known := extensionsv1alpha1.KindByName(kind)
	if !known || !k.Namespaced {
		return nil, fmt.Errorf("list %q: not a kind of extension objects in a namespace", kind)
	}
	list := k.NewList()
	if err := o.Seed.List(ctx, list, client.InNamespace(o.Namespace())); err != nil {
		return nil, fmt.Errorf("list %s: %w", kind, err)
	}
	return list.Objects(), nil
}
