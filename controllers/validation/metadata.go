package validation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rollout"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

const (
	// maxNames is how long the names of a project and of a shoot in it may be together, and maxPoolName that of a
	// worker pool. The name of a node has all three in it, and is a label (docs/specification/api.md#spec-1-2):
	// shoot--<project>--<shoot>-<pool>-z1-…
	maxNames    = 21
	maxPoolName = 15
	// leastPeriod keeps a shoot from being reconciled all the time.
	leastPeriod = time.Second
)

// shootName wants a name of which the technical id can be made: it is a namespace, and is taken apart at "--".
func shootName(shoot *gardencorev1beta1.Shoot, project string) field.ErrorList {
	path := field.NewPath("metadata", "name")
	errs := partOfTechnicalID(path, shoot.Name)
	if length := len(project) + len(shoot.Name); project != "" && length > maxNames {
		errs = append(errs, field.Invalid(path, shoot.Name, fmt.Sprintf(
			"must have at most %d characters together with the name of the project, %q, and both have %d", maxNames,
			project, length)))
	}
	return errs
}

func partOfTechnicalID(path *field.Path, name string) field.ErrorList {
	errs := label(path, name)
	if strings.Contains(name, "--") {
		errs = append(errs,
			field.Invalid(path, name, `must not contain "--", at which the technical id of a shoot is taken apart`))
	}
	return errs
}

// annotationRules are the annotations of Shoots that controllers act on, and what is wrong with a value; "" for
// nothing. Most controllers take an empty value for none.
var annotationRules = map[string]func(shoot *gardencorev1beta1.Shoot, value string) string{
	constants.GardenerOperation: operations(shootOperations,
		"none of the operations of a shoot: "),
	constants.GardenerMaintenanceOperation: operations(maintenanceOperations,
		"nothing that a maintenance can ask for: "),
	constants.ShootTasks:                                                tasks,
	constants.ShootIgnore:                                               truth,
	constants.ShootSyncPeriod:                                           period,
	constants.ShootSkipCleanup:                                          truth,
	constants.ShootForceRestore:                                         truth,
	constants.ShootNeedsRetryOperation:                                  boolean,
	constants.ConfirmationDeletion:                                      truth,
	constants.ConfirmationForceDeletion:                                 truth,
	constants.ShootCleanupWebhooksFinalizeGracePeriodSeconds:            seconds,
	constants.ShootCleanupExtendedAPIsFinalizeGracePeriodSeconds:        seconds,
	constants.ShootCleanupKubernetesResourcesFinalizeGracePeriodSeconds: seconds,
}

// ShootAnnotations are the annotations of Shoots whose values are checked, in order.
func ShootAnnotations() []string { return slices.Sorted(maps.Keys(annotationRules)) }

func shootAnnotations(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	for _, key := range ShootAnnotations() {
		if value, found := shoot.Annotations[key]; found {
			if why := annotationRules[key](shoot, value); why != "" {
				errs = append(errs, field.Invalid(annotation(key), value, why))
			}
		}
	}
	return errs
}

func annotation(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

func truth(_ *gardencorev1beta1.Shoot, value string) string {
	if value == "" || value == "true" || value == "false" {
		return ""
	}
	return `must be "true" or "false"`
}

// boolean is for an annotation that is read as Go reads a boolean.
func boolean(_ *gardencorev1beta1.Shoot, value string) string {
	if _, err := strconv.ParseBool(value); value == "" || err == nil {
		return ""
	}
	return `must be "true" or "false"`
}

func period(_ *gardencorev1beta1.Shoot, value string) string {
	if d, err := time.ParseDuration(value); value == "" || err == nil && d >= leastPeriod {
		return ""
	}
	return fmt.Sprintf(`must be a duration of %v or more, for example "10m"`, leastPeriod)
}

// seconds wants what the clean-up can read: it would fail for what is not a number, and for nothing as well.
func seconds(_ *gardencorev1beta1.Shoot, value string) string {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		return ""
	}
	return `must be a number of seconds, for example "300", or "0" for at once`
}

var (
	maintenanceOperations = append([]string{constants.ShootOperationReconcile}, rotation.Operations()...)
	shootOperations       = append([]string{
		constants.ShootOperationReconcile, constants.ShootOperationRetry, constants.ShootOperationMaintain,
		constants.ShootOperationForceInPlaceUpdate,
	}, rotation.Operations()...)
)

// operations are a list joined with ";", of known ones and of requests to roll pools that there are.
func operations(known []string, unknown string) func(*gardencorev1beta1.Shoot, string) string {
	return func(shoot *gardencorev1beta1.Shoot, value string) string {
		for _, operation := range strings.Split(value, constants.OperationsSeparator) {
			operation = strings.TrimSpace(operation)
			if rollout.IsRequest(operation) {
				if _, missing := rollout.Requested(shoot, []string{operation}); len(missing) > 0 {
					return fmt.Sprintf("%q names worker pools that the shoot does not have: %s", operation,
						strings.Join(missing, ", "))
				}
				continue
			}
			if refusal := rotation.Refusal(shoot, operation); refusal != "" {
				return refusal
			}
			if operation != "" && !slices.Contains(known, operation) {
				return fmt.Sprintf("%q is %s%s, %s=<pools>", operation, unknown, strings.Join(known, ", "),
					constants.ShootOperationRolloutWorkers)
			}
		}
		return ""
	}
}

var shootTasks = []string{
	constants.ShootTaskDeployInfrastructure, constants.ShootTaskDeployDNSRecordInternal,
	constants.ShootTaskDeployDNSRecordExternal,
	constants.ShootTaskDeployDNSRecordIngress, constants.ShootTaskRestartControlPlanePods,
	constants.ShootTaskRestartCoreAddons,
}

func tasks(_ *gardencorev1beta1.Shoot, value string) string {
	if value == "" {
		return ""
	}
	for _, task := range strings.Split(value, ",") {
		if !slices.Contains(shootTasks, strings.TrimSpace(task)) {
			return fmt.Sprintf("%q is no task of a shoot: they are %s, separated by commas", task,
				strings.Join(shootTasks, ", "))
		}
	}
	return ""
}
