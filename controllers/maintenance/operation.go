package maintenance

import (
	"slices"
	"strconv"
	"strings"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
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
// the rotations that are due, and always a reconciliation (SPEC 4.6; 4.11, 7). A failed shoot is asked for nothing, or
// to retry if it is marked so; what was put by stays for the next maintenance.
func operate(shoot *gardencorev1beta1.Shoot, rotations []Rotation) string {
	if AskedFor(shoot) {
		delete(shoot.Annotations, constants.GardenerOperation)
	}
	switch {
	case shoot.Status.LastOperation == nil:
		return ""
	case shoot.Status.LastOperation.State == gardencorev1beta1.LastOperationStateFailed:
		return retry(shoot)
	}
	operation := strings.Join(wanted(shoot, rotations), constants.OperationsSeparator)
	annotate(shoot, constants.GardenerOperation, operation)
	delete(shoot.Annotations, constants.GardenerMaintenanceOperation)
	return operation
}

func retry(shoot *gardencorev1beta1.Shoot) string {
	// What is no truth value is no wish.
	if marked, _ := strconv.ParseBool(shoot.Annotations[constants.ShootNeedsRetryOperation]); !marked {
		return ""
	}
	delete(shoot.Annotations, constants.ShootNeedsRetryOperation)
	annotate(shoot, constants.GardenerOperation, constants.ShootOperationRetry)
	return constants.ShootOperationRetry
}

func wanted(shoot *gardencorev1beta1.Shoot, rotations []Rotation) []string {
	wanted := operations(shoot, constants.GardenerMaintenanceOperation)
	add := func(operation string) {
		if !slices.Contains(wanted, operation) {
			wanted = append(wanted, operation)
		}
	}
	add(constants.ShootOperationReconcile)
	for _, rotation := range rotations {
		if !rotation.Failed {
			add(rotation.Operation)
		}
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
	annotate(shoot, constants.ShootTasks, strings.Join(all, ","))
}

func annotate(shoot *gardencorev1beta1.Shoot, key, value string) {
	if shoot.Annotations == nil {
		shoot.Annotations = map[string]string{}
	}
	shoot.Annotations[key] = value
}
