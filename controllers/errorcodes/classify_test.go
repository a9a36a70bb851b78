package errorcodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// TestClassify: each class of messages in SPEC 5.8, in the words of some cloud.
func TestClassify(t *testing.T) {
	t.Parallel()
	rows := map[gardencorev1beta1.ErrorCode][]string{
		"ERR_INFRA_UNAUTHENTICATED": {
			"Authentication failed: please log in", "AuthFailure: AWS was not able to validate the provided access credentials",
			"InvalidClientTokenId: the security token included in the request is wrong", "invalid tenant id", "invalid subscription",
			"InvalidAccessKeyId", "InvalidSecretAccessKey", "oauth2: cannot fetch token: 400", "unable to obtain an access token",
			"the credential contains an illegal character", "cloud: Unauthenticated: token is wrong",
		},
		"ERR_INFRA_UNAUTHORIZED": {
			"UnauthorizedOperation: you are not authorized to perform this operation", "AccessDenied", "googleapi: Error 403: no", "SignatureDoesNotMatch",
			"invalid_grant: account not found", "SERVICE_ACCOUNT_ACCESS_DENIED", "OperationNotAllowed", "there are no active subscriptions",
			"access denied by policy", "signature mismatch", `Code="AuthorizationFailed" Message="The client does not have authorization to perform the action"`,
		},
		"ERR_INFRA_QUOTA_EXCEEDED": {
			"VpcLimitExceeded: the maximum number of VPCs has been reached", "LimitExceeded", "InstanceLimitExceeded", "Quota 'CPUS' exceeded. Limit: 24", "Quotas were exceeded",
			"exceeded quota: cores", "Maximum number of ports exceeded", "VolumeSizeExceedsAvailableQuota", "ZONE_RESOURCE_POOL_EXHAUSTED",
		},
		"ERR_INFRA_RATE_LIMITS_EXCEEDED": {"RequestLimitExceeded: slow down", "Throttling: rate exceeded", "429 Too Many Requests", "request was throttled", "googleapi: rateLimitExceeded"},
		"ERR_INFRA_DEPENDENCIES": {
			"DependencyViolation: resource sg-1 has a dependent object", "DeleteConflict: cannot delete", "409 Conflict", "InUseSubnetCannotBeDeleted", "VnetInUse",
			"route table rt-1 is in use", "subnet s is already being used", "the account is in an inactive billing state", "PendingVerification: your request is being validated",
			"InternalServerError", "Internal Error: try later", "timeout while waiting for state to become 'ACTIVE'", "InsufficientFreeAddressesInSubnet", "there are no free addresses",
			"There are not enough hosts available",
		},
		"ERR_RETRYABLE_INFRA_DEPENDENCIES": {"RetryableError: the load balancer is busy"},
		"ERR_INFRA_RESOURCES_DEPLETED": {
			"InsufficientInstanceCapacity: no m5", "insufficient capacity", "SkuNotAvailable", "ZonalAllocationFailed", "m5 is out of stock", "out of capacity in zone a",
		},
		"ERR_CONFIGURATION_PROBLEM": {
			"InvalidParameterValue: size", `spec.x: Invalid value: "y"`, "NetcfgInvalidSubnet", "invalid CIDR", "invalid VPC attributes", "notFound: image", "InvalidAMIID.NotFound",
			"instance type is not supported in your requested Availability Zone", "InvalidZone", "constraint constraints/compute.x is violated", "it violates constraint y",
			"unrecognized feature gate: Foo", "runtime-config invalid key", "strict decoding error: unknown field", `error during apply of object "v1/ConfigMap": x is invalid: y`,
			"overlapping zones", "zones of the pools overlap", "KubeletHasInsufficientMemory", "node has KubeletHasDiskPressure", "KubeletHasInsufficientPID",
		},
		"ERR_RETRYABLE_CONFIGURATION_PROBLEM": {
			"PDB a is misconfigured and requires zero voluntary evictions", "evicting pod: misconfigured PodDisruptionBudget", "SDK.CanNotResolveEndpoint", "endpoint e is not resolvable",
			"The requested configuration is currently not supported",
		},
	}
	for code, messages := range rows {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			for _, message := range messages {
				if diff := cmp.Diff([]gardencorev1beta1.ErrorCode{code}, Classify(message)); diff != "" {
					t.Errorf("%q (-want +got):\n%s", message, diff)
				}
			}
		})
	}
}

func TestClassifyManyAndNone(t *testing.T) {
	t.Parallel()
	got := Classify("Quota exceeded; also RequestLimitExceeded and InsufficientInstanceCapacity")
	want := []gardencorev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED", "ERR_INFRA_RATE_LIMITS_EXCEEDED", "ERR_INFRA_RESOURCES_DEPLETED"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, message := range []string{
		"", "connection refused", "context deadline exceeded", `secrets "x" not found`, "the object has been modified; please apply your changes to the latest version",
		"conflicting answers", "waiting for the machine", "the network is unreachable: the address was used 3 times",
	} {
		if codes := Classify(message); len(codes) > 0 {
			t.Errorf("%q: %v", message, codes)
		}
	}
}
