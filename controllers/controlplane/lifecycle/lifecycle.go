// Package lifecycle says what is to be done for a shoot, by whom, and what was asked for, by the Shoot alone
// (docs/specification/migration.md#spec-2-3). It reads and writes nothing.
package lifecycle

import (
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rollout"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

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

// ResponsibleSeedOf is the ResponsibleSeed of a shoot.
func ResponsibleSeedOf(shoot *gardencorev1beta1.Shoot) string {
	return ResponsibleSeed(shoot.Spec.SeedName, shoot.Status.SeedName)
}

// ReadyForMigration is the garden's word that the seed to which a shoot is bound can take it
// (docs/specification/migration.md#spec-2-4).
func ReadyForMigration(shoot *gardencorev1beta1.Shoot) bool {
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == gardencorev1beta1.ShootReadyForMigration {
			return constraint.Status == gardencorev1beta1.ConditionTrue
		}
	}
	return false
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

// RealNodes reports whether the pods on the shoot's nodes run, so that its control plane needs a tunnel to them.
func RealNodes(shoot *gardencorev1beta1.Shoot) bool {
	return !Workerless(shoot) && shoot.Annotations[constants.Nodes] == constants.NodesReal
}

// Workerless reports whether a shoot has no workers, and so no infrastructure.
func Workerless(shoot *gardencorev1beta1.Shoot) bool { return len(shoot.Spec.Provider.Workers) == 0 }

// Hibernated reports whether a shoot is to be hibernated.
func Hibernated(shoot *gardencorev1beta1.Shoot) bool {
	return shoot.Spec.Hibernation != nil && ptr.Deref(shoot.Spec.Hibernation.Enabled, false)
}

// Awake reports whether the control plane of a shoot runs during a flow. A shoot that is to be hibernated and is not
// asleep yet is put to sleep at the end; one that sleeps is not woken, not even on another seed.
func Awake(shoot *gardencorev1beta1.Shoot) bool {
	return !Hibernated(shoot) || !shoot.Status.IsHibernated
}

// Requested reports whether somebody asked for a run: the annotation gardener.cloud/operation lists reconcile or retry
// among its operations. A wish for maintenance goes first, and asks for a run in turn; other operations are other
// controllers' affair.
func Requested(shoot *gardencorev1beta1.Shoot) bool {
	return asked(shoot, constants.ShootOperationReconcile, constants.ShootOperationRetry)
}

// RolloutRequested reports whether somebody asked for worker pools to be rolled: the annotation
// gardener.cloud/operation lists rollout-workers=… among its operations (docs/specification/versions.md#spec-4-9). A
// wish for maintenance goes first.
func RolloutRequested(shoot *gardencorev1beta1.Shoot) bool {
	listed := Requests(shoot)
	return !slices.Contains(listed, constants.ShootOperationMaintain) && slices.ContainsFunc(listed, rollout.IsRequest)
}

// RotationRequested reports whether somebody asked for credentials to be rotated (docs/specification/api.md#spec-1-12).
// A wish for maintenance goes first.
func RotationRequested(shoot *gardencorev1beta1.Shoot) bool {
	return asked(shoot, rotation.Operations()...)
}

// Stuck reports whether the operation has failed for good, and nobody has changed the shoot or asked for another try
// since (docs/specification/migration.md#spec-2-5).
func Stuck(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	return last != nil && last.State == gardencorev1beta1.LastOperationStateFailed &&
		shoot.Status.ObservedGeneration == shoot.Generation && !asked(shoot, constants.ShootOperationRetry)
}

func asked(shoot *gardencorev1beta1.Shoot, operations ...string) bool {
	listed := Requests(shoot)
	return !slices.Contains(listed, constants.ShootOperationMaintain) &&
		slices.ContainsFunc(listed, func(operation string) bool { return slices.Contains(operations, operation) })
}

// Requests are the operations that the annotation lists.
func Requests(shoot *gardencorev1beta1.Shoot) []string {
	listed := strings.Split(shoot.Annotations[constants.GardenerOperation], constants.OperationsSeparator)
	for i := range listed {
		listed[i] = strings.TrimSpace(listed[i])
	}
	return slices.DeleteFunc(listed, func(operation string) bool { return operation == "" })
}

// Tasks are the one-shot tasks that the shoot lists (docs/specification/api.md#spec-1-12).
func Tasks(shoot *gardencorev1beta1.Shoot) []string {
	var tasks []string
	for _, task := range strings.Split(shoot.Annotations[constants.ShootTasks], ",") {
		if task = strings.TrimSpace(task); task != "" {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// RemoveTasks takes tasks off the shoot's list, and the list with the last one.
func RemoveTasks(shoot *gardencorev1beta1.Shoot, done []string) {
	left := slices.DeleteFunc(Tasks(shoot), func(task string) bool { return slices.Contains(done, task) })
	if len(left) == 0 {
		delete(shoot.Annotations, constants.ShootTasks)
		return
	}
	shoot.Annotations[constants.ShootTasks] = strings.Join(left, ",")
}
