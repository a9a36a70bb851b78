package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/spelling"
)

// closedSet are all values that a field may have, beside none. Where it is open users' extensions have values of their
// own, and only what is nearly one of these is none.
type closedSet struct {
	name   string
	is     func(ast.Expr) bool
	values []string
	open   bool
}

// foreign are the values that a node asks the field for although it never has them.
func (s closedSet) foreign(node ast.Expr) []string {
	return slices.DeleteFunc(comparedWith(node, s.is), func(value string) bool {
		return slices.Contains(s.values, value) || s.open && spelling.Almost(value, s.values) == ""
	})
}

func fieldOf(of, path string) func(ast.Expr) bool {
	return func(node ast.Expr) bool { return isMember(node, of, path) }
}

var closed = []closedSet{
	{"lastOperation.type", fieldOf("shoot", "lastOperation.type"), texts(gardencorev1beta1.LastOperationTypeCreate,
		gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationTypeDelete,
		gardencorev1beta1.LastOperationTypeMigrate,
		gardencorev1beta1.LastOperationTypeRestore), false},
	{"lastOperation.state", fieldOf("shoot", "lastOperation.state"), texts(gardencorev1beta1.LastOperationStateProcessing,
		gardencorev1beta1.LastOperationStateSucceeded, gardencorev1beta1.LastOperationStateError,
		gardencorev1beta1.LastOperationStateFailed,
		gardencorev1beta1.LastOperationStatePending, gardencorev1beta1.LastOperationStateAborted), false},
	{"maintenance.state", fieldOf("shoot", "maintenance.state"), texts(gardencorev1beta1.LastOperationStateProcessing,
		gardencorev1beta1.LastOperationStateSucceeded, gardencorev1beta1.LastOperationStateFailed), false},
	{"status of a condition", isStatus, texts(gardencorev1beta1.ConditionTrue, gardencorev1beta1.ConditionFalse,
		gardencorev1beta1.ConditionUnknown, gardencorev1beta1.ConditionProgressing), false},
	{"errorCodes", isErrorCode, texts(gardencorev1beta1.ErrorInfraUnauthenticated,
		gardencorev1beta1.ErrorInfraUnauthorized,
		gardencorev1beta1.ErrorInfraQuotaExceeded, gardencorev1beta1.ErrorInfraRateLimitsExceeded,
		gardencorev1beta1.ErrorInfraDependencies,
		gardencorev1beta1.ErrorRetryableInfraDependencies, gardencorev1beta1.ErrorInfraResourcesDepleted,
		gardencorev1beta1.ErrorCleanupClusterResources, gardencorev1beta1.ErrorConfigurationProblem,
		gardencorev1beta1.ErrorRetryableConfigurationProblem, gardencorev1beta1.ErrorProblematicWebhook), true},
}

// isErrorCode says whether a node is shoot(…).errorCodes or one of them.
func isErrorCode(node ast.Expr) bool {
	codes := fieldOf("shoot", "errorCodes")
	return codes(node) || isElement(node, codes)
}

// isStatus says whether a node is the status of a condition or constraint.
func isStatus(node ast.Expr) bool {
	return slices.ContainsFunc(keyed, func(m keyedMap) bool { return m.field != "reasons" && isElement(node, m.is) })
}

// keyedMap has one entry for each type of condition that there is. Controllers of users may write conditions of their
// own, so that only types that are nearly one of these are refused, and those that are found elsewhere.
type keyedMap struct {
	of, field string
	types     []string
}

func (m keyedMap) is(node ast.Expr) bool { return isMember(node, m.of, m.field) }

func (m keyedMap) String() string { return m.of + "(…)." + m.field }

var (
	shootConditions = texts(gardencorev1beta1.ShootAPIServerAvailable, gardencorev1beta1.ShootControlPlaneHealthy,
		gardencorev1beta1.ShootObservabilityComponentsHealthy, gardencorev1beta1.ShootEveryNodeReady,
		gardencorev1beta1.ShootSystemComponentsHealthy)
	shootConstraints = texts(gardencorev1beta1.ShootHibernationPossible,
		gardencorev1beta1.ShootMaintenancePreconditionsSatisfied,
		gardencorev1beta1.ShootCACertificateValiditiesAcceptable,
		gardencorev1beta1.ShootCRDsWithProblematicConversionWebhooks,
		gardencorev1beta1.ShootManualInPlaceWorkersUpdated, gardencorev1beta1.ShootReadyForMigration,
		gardencorev1beta1.ShootEvacuationPossible,
		gardencorev1beta1.ShootManagedResourcesHonored, gardencorev1beta1.ShootPreservedFailedMachinesAbsent)
	seedConditions = texts(gardencorev1beta1.SeedGardenletReady, gardencorev1beta1.SeedBackupBucketsReady,
		gardencorev1beta1.SeedExtensionsReady,
		gardencorev1beta1.SeedSystemComponentsHealthy, gardencorev1beta1.SeedEmergencyStopShootReconciliations)

	keyed = []keyedMap{
		{"shoot", "conditions", shootConditions},
		{"shoot", "constraints", shootConstraints},
		{"shoot", "reasons", slices.Concat(shootConditions, shootConstraints)},
		{"seed", "conditions", seedConditions},
	}
)

// checkKeys finds a condition that a node asks for although there is none of its type.
func checkKeys(node ast.Expr) error {
	for _, m := range keyed {
		for _, asked := range append(comparedWith(node, m.is), keyOf(node, m.is)) {
			if err := m.refuse(asked); asked != "" && err != nil {
				return err
			}
		}
	}
	return nil
}

func (m keyedMap) refuse(asked string) error {
	if slices.Contains(m.types, asked) {
		return nil
	}
	if meant := spelling.Almost(asked, m.types); meant != "" {
		return fmt.Errorf("%s has no %q; did you mean %q? known are %s", m, asked, meant, strings.Join(m.types, ", "))
	}
	for _, other := range keyed {
		if slices.Contains(other.types, asked) {
			return fmt.Errorf("%s has no %q; it is in %s", m, asked, other)
		}
	}
	return nil
}

func texts[T ~string](values ...T) []string {
	var list []string
	for _, value := range values {
		list = append(list, string(value))
	}
	return list
}
