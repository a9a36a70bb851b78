package fence

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// TestClassify: the codes that the cloud's own words deserve (docs/specification/care.md#spec-5-8).
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, message, want string }{
		{"AuthFailure", "authentication failed: the provided credentials could not be validated",
			"ERR_INFRA_UNAUTHENTICATED"},
		{"UnauthorizedOperation", "You are not authorized to perform this operation: access denied",
			"ERR_INFRA_UNAUTHORIZED"},
		{"NetworkLimitExceeded", "Quota exceeded: the maximum number of networks has been reached",
			"ERR_INFRA_QUOTA_EXCEEDED"},
		{"RequestLimitExceeded", "Throttling: rate exceeded, too many requests", "ERR_INFRA_RATE_LIMITS_EXCEEDED"},
		{"DependencyViolation", "The subnet has dependencies: resource in use", "ERR_INFRA_DEPENDENCIES"},
		{"InternalError", "An internal error has occurred: internal server error", "ERR_INFRA_DEPENDENCIES"},
		{"RetryableError", "The router depends on an operation that is still in progress, try again later",
			"ERR_RETRYABLE_INFRA_DEPENDENCIES"},
		{"InsufficientInstanceCapacity",
			"insufficient instance capacity: we currently do not have sufficient capacity in the zone you requested",
			"ERR_INFRA_RESOURCES_DEPLETED"},
		{"InvalidParameterValue", "Value for a parameter is invalid: invalid value", "ERR_CONFIGURATION_PROBLEM"},
		{"InvalidNetworkID.NotFound", "The network ID 'x' does not exist", "ERR_CONFIGURATION_PROBLEM"},
	} {
		err := Classify(&cloud.Error{Code: cloud.CodeInvalid, Reason: test.reason, Message: test.message})
		if diff := cmp.Diff([]gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorCode(test.want)},
			contract.Codes(err)); diff != "" {
			t.Errorf("%s: %s", test.reason, diff)
		}
	}
	if codes := contract.Codes(Classify(errors.New("forbidden: quota exceeded"))); len(codes) > 0 {
		t.Errorf("an error that is not the cloud's got the codes %v", codes)
	}
}
