package maintenance

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rollout"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

// operations are those that an annotation lists.
func operations(shoot *gardencorev1beta1.Shoot, annotation string) []string {
	var listed []string
	for _, operation := range strings.Split(shoot.Annotations[annotation], constants.OperationsSeparator) {
		if operation = strings.TrimSpace(operation); operation != "" {
			listed = append(listed, operation)
		}
	}
	return listed
}

// operate replaces the wish for maintenance by what the maintenance asks for: the operations that were put by for it,
// the rotations that are due, and always a reconciliation (docs/specification/versions.md#spec-4-6,
// docs/specification/versions.md#spec-4-11-7). A failed shoot is asked for nothing, or to retry if it is marked so;
// what was put by stays for the next maintenance. What somebody asked for besides, and has not begun yet, stays asked
// for. It returns what the maintenance asks for.
func operate(shoot *gardencorev1beta1.Shoot, rotations []Rotation) string {
	asked := besides(shoot)
	var more []string
	switch {
	case shoot.Status.LastOperation == nil:
	case shoot.Status.LastOperation.State == gardencorev1beta1.LastOperationStateFailed:
		more = retry(shoot)
	default:
		more = wanted(shoot, rotations)
		delete(shoot.Annotations, constants.GardenerMaintenanceOperation)
	}
	askFor(shoot, union(asked, more))
	return strings.Join(more, constants.OperationsSeparator)
}

// besides is what is asked for besides maintenance.
func besides(shoot *gardencorev1beta1.Shoot) []string {
	return slices.DeleteFunc(operations(shoot, constants.GardenerOperation), func(operation string) bool {
		return operation == constants.ShootOperationMaintain
	})
}

// askFor leaves the operation annotation out where there is nothing to ask for.
func askFor(shoot *gardencorev1beta1.Shoot, operations []string) {
	if len(operations) == 0 {
		delete(shoot.Annotations, constants.GardenerOperation)
		return
	}
	metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.GardenerOperation,
		strings.Join(operations, constants.OperationsSeparator))
}

// union has every operation once.
func union(some, more []string) []string {
	for _, operation := range more {
		if !slices.Contains(some, operation) {
			some = append(some, operation)
		}
	}
	return some
}

func retry(shoot *gardencorev1beta1.Shoot) []string {
	// What is no truth value is no wish.
	if marked, _ := strconv.ParseBool(shoot.Annotations[constants.ShootNeedsRetryOperation]); !marked {
		return nil
	}
	delete(shoot.Annotations, constants.ShootNeedsRetryOperation)
	return []string{constants.ShootOperationRetry}
}

// canBePutBy is whether an operation may be asked for in the next maintenance (docs/specification/api.md#spec-1-12).
// Another maintenance, what only means something at once, and rotations that nobody carries out are not.
func canBePutBy(operation string) bool {
	return operation == constants.ShootOperationReconcile || rollout.IsRequest(operation) ||
		slices.Contains(rotation.Operations(), operation)
}

func wanted(shoot *gardencorev1beta1.Shoot, rotations []Rotation) []string {
	wanted := slices.DeleteFunc(operations(shoot, constants.GardenerMaintenanceOperation), func(operation string) bool {
		return !canBePutBy(operation) || rotation.Refusal(shoot, operation) != ""
	})
	wanted = union(nil, append(wanted, constants.ShootOperationReconcile))
	for _, due := range rotations {
		wanted = union(wanted, []string{due.Operation})
	}
	return wanted
}

// addTasks adds what the reconciliation has to do beyond its usual work.
func addTasks(shoot *gardencorev1beta1.Shoot, config Config) {
	tasks := []string{
		constants.ShootTaskDeployInfrastructure, constants.ShootTaskDeployDNSRecordInternal,
		constants.ShootTaskDeployDNSRecordExternal, constants.ShootTaskDeployDNSRecordIngress,
	}
	if config.RestartControlPlane {
		tasks = append(tasks, constants.ShootTaskRestartControlPlanePods)
	}
	if config.RestartCoreAddons {
		tasks = append(tasks, constants.ShootTaskRestartCoreAddons)
	}
	var all []string
	if listed := shoot.Annotations[constants.ShootTasks]; listed != "" {
		all = strings.Split(listed, ",")
	}
	for _, task := range tasks {
		if !slices.Contains(all, task) {
			all = append(all, task)
		}
	}
	metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.ShootTasks, strings.Join(all, ","))
}
