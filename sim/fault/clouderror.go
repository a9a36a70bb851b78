package fault

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// CloudError refuses calls to the cloud, without effect.
type CloudError struct {
	Calls `json:",inline"`
	// Code is what the error means: one of the cloud, such as QuotaExceeded, or the one of a Shoot's lastErrors that it
	// leads to, such as ERR_INFRA_QUOTA_EXCEEDED.
	Code string `json:"code"`
	// Reason is the provider's own word for it; a usual one when not given.
	Reason string `json:"reason,omitempty"`
	// Message of the provider; a usual one when not given.
	Message string `json:"message,omitempty"`
}

var _ Fault = &CloudError{}

// clouded are the codes of docs/specification/care.md#spec-5-8 that a cloud can be the cause of, and what the cloud
// says then.
var clouded = map[gardencorev1beta1.ErrorCode]cloud.Code{
	gardencorev1beta1.ErrorInfraUnauthenticated:       cloud.CodeUnauthenticated,
	gardencorev1beta1.ErrorInfraUnauthorized:          cloud.CodeUnauthorized,
	gardencorev1beta1.ErrorInfraQuotaExceeded:         cloud.CodeQuotaExceeded,
	gardencorev1beta1.ErrorInfraRateLimitsExceeded:    cloud.CodeRateLimited,
	gardencorev1beta1.ErrorInfraDependencies:          cloud.CodeDependencyViolation,
	gardencorev1beta1.ErrorRetryableInfraDependencies: cloud.CodeRetryableDependency,
	gardencorev1beta1.ErrorInfraResourcesDepleted:     cloud.CodeDepleted,
	gardencorev1beta1.ErrorConfigurationProblem:       cloud.CodeInvalid,
}

// injectable are the cloud's own codes. StaleEpoch and Damaged say something about the world that would not be true.
var injectable = []cloud.Code{
	cloud.CodeInvalid, cloud.CodeNotFound, cloud.CodeAlreadyExists, cloud.CodeConflict, cloud.CodeUnauthenticated,
	cloud.CodeUnauthorized,
	cloud.CodeQuotaExceeded, cloud.CodeRateLimited, cloud.CodeDependencyViolation, cloud.CodeRetryableDependency,
	cloud.CodeDepleted,
	cloud.CodeInternal, cloud.CodeUnavailable,
}

// CloudCodes are all codes that a CloudError can have.
func CloudCodes() []string {
	var codes []string
	for _, code := range injectable {
		codes = append(codes, string(code))
	}
	for _, code := range slices.Sorted(maps.Keys(clouded)) {
		codes = append(codes, string(code))
	}
	return codes
}

func (c *CloudError) harm() cloud.Fault {
	code := cloud.Code(c.Code)
	if of, known := clouded[gardencorev1beta1.ErrorCode(c.Code)]; known {
		code = of
	}
	return c.fault(cloud.Effect{Error: &cloud.ErrorEffect{Code: code, Reason: c.Reason, Message: c.Message}})
}

// Name is "cloudError(calls,code)".
func (c *CloudError) Name() string {
	named := c.Calls
	named.Kinds = append(slices.Clone(c.Kinds), c.Code)
	return named.name("cloudError")
}

// Check finds unknown callers, kinds, verbs and codes.
func (c *CloudError) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return append(c.check(path, on), choice.Check(path.Child("code"), c.Code, CloudCodes())...)
}

// Inject makes the cloud refuse.
func (c *CloudError) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.BreakCloud(ctx, c.harm())
}
