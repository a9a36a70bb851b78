package errorcodes

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// knownTexts are messages of each class of docs/specification/care.md#spec-5-8, in the words of some cloud.
var knownTexts = map[gardencorev1beta1.ErrorCode][]string{
	"ERR_INFRA_UNAUTHENTICATED": {
		"Authentication failed: please log in", "AuthFailure: AWS was not able to validate the provided access credentials",
		"InvalidClientTokenId: the security token included in the request is wrong", "invalid tenant id",
		"invalid subscription",
		"InvalidAccessKeyId", "InvalidSecretAccessKey", "oauth2: cannot fetch token: 400", "unable to obtain an access token",
		"the credential contains an illegal character", "cloud: Unauthenticated: token is wrong",
	},
	"ERR_INFRA_UNAUTHORIZED": {
		"UnauthorizedOperation: you are not authorized to perform this operation", "AccessDenied", "googleapi: Error 403: no",
		"SignatureDoesNotMatch",
		"invalid_grant: account not found", "SERVICE_ACCOUNT_ACCESS_DENIED", "OperationNotAllowed",
		"there are no active subscriptions",
		"access denied by policy", "401 Unauthorized", "signature mismatch",
		`Code="AuthorizationFailed" Message="The client does not have authorization to perform the action"`,
	},
	"ERR_INFRA_QUOTA_EXCEEDED": {
		"VpcLimitExceeded: the maximum number of VPCs has been reached", "LimitExceeded", "InstanceLimitExceeded",
		"Quota 'CPUS' exceeded. Limit: 24", "Quotas were exceeded",
		"exceeded quota: cores", "Maximum number of ports exceeded", "VolumeSizeExceedsAvailableQuota",
		"ZONE_RESOURCE_POOL_EXHAUSTED",
	},
	"ERR_INFRA_RATE_LIMITS_EXCEEDED": {"RequestLimitExceeded: slow down", "Throttling: rate exceeded",
		"429 Too Many Requests", "request was throttled", "googleapi: rateLimitExceeded"},
	"ERR_INFRA_DEPENDENCIES": {
		"DependencyViolation: resource sg-1 has a dependent object", "DeleteConflict: cannot delete", "409 Conflict",
		"InUseSubnetCannotBeDeleted", "VnetInUse",
		"route table rt-1 is in use", "subnet s is already being used", "the account is in an inactive billing state",
		"PendingVerification: your request is being validated",
		"InternalServerError", "Internal Error: try later", "timeout while waiting for state to become 'ACTIVE'",
		"InsufficientFreeAddressesInSubnet", "there are no free addresses",
		"There are not enough hosts available",
	},
	"ERR_RETRYABLE_INFRA_DEPENDENCIES": {"RetryableError: the load balancer is busy"},
	"ERR_INFRA_RESOURCES_DEPLETED": {
		"InsufficientInstanceCapacity: no m5", "insufficient capacity", "SkuNotAvailable", "ZonalAllocationFailed",
		"m5 is out of stock", "out of capacity in zone a",
	},
	"ERR_CONFIGURATION_PROBLEM": {
		"InvalidParameterValue: size", `spec.x: Invalid value: "y"`, "NetcfgInvalidSubnet", "invalid CIDR",
		"invalid VPC attributes", "notFound: image", "InvalidAMIID.NotFound",
		"instance type is not supported in your requested Availability Zone", "InvalidZone",
		"constraint constraints/compute.x is violated", "it violates constraint y",
		"unrecognized feature gate: Foo", "runtime-config invalid key", "strict decoding error: unknown field",
		`error during apply of object "v1/ConfigMap": x is invalid: y`,
		"overlapping zones", "zones of the pools overlap", "KubeletHasInsufficientMemory", "node has KubeletHasDiskPressure",
		"KubeletHasInsufficientPID",
	},
	"ERR_RETRYABLE_CONFIGURATION_PROBLEM": {
		"PDB a is misconfigured and requires zero voluntary evictions", "evicting pod: misconfigured PodDisruptionBudget",
		"SDK.CanNotResolveEndpoint", "endpoint e is not resolvable",
		"The requested configuration is currently not supported",
	},
	"ERR_PROBLEMATIC_WEBHOOK": {
		`Internal error occurred: failed calling webhook "a.test": failed to call webhook: Post ` +
			`"https://127.0.0.1:1/?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`,
		`Internal error occurred: failed calling webhook "a.test": failed to call webhook: Post ` +
			`"https://a.shop.svc:443/?timeout=3s": context deadline exceeded`,
		`Internal error occurred: failed calling webhook "a.test": failed to call webhook: Post ` +
			`"https://a.shop.svc:443/": service "a" not found`,
		`Internal error occurred: failed calling webhook "a.test": failed to call webhook: tls: failed to verify ` +
			`certificate: x509: certificate signed by unknown authority`,
		`Internal error occurred: failed calling webhook "a.test": failed to call webhook: an error on the server ("") ` +
			`has prevented the request from succeeding`,
		`Internal error occurred: failed calling webhook "a.test": expected response.uid="1", got ""`,
		`admission webhook "a.test" denied the request: not on Fridays`,
		`admission webhook "a.test" denied the request without explanation`,
		`admission webhook "a.test" attempted to modify the object, which is not supported for this operation`,
		`conversion webhook for shop.test/v1, Kind=Order failed: Post "https://a.shop.svc:443/convert?timeout=30s": EOF`,
	},
}

// generalTexts are those of them that have a general word alone, and the codes that say more than it does.
var generalTexts = map[string][]gardencorev1beta1.ErrorCode{
	"googleapi: Error 403: no":  everyCodeBut("ERR_INFRA_UNAUTHORIZED"),
	"OperationNotAllowed":       everyCodeBut("ERR_INFRA_UNAUTHORIZED"),
	"401 Unauthorized":          {"ERR_INFRA_UNAUTHENTICATED"},
	"409 Conflict":              everyCodeBut("ERR_INFRA_DEPENDENCIES"),
	"InternalServerError":       everyCodeBut("ERR_INFRA_DEPENDENCIES"),
	"Internal Error: try later": everyCodeBut("ERR_INFRA_DEPENDENCIES"),
	"timeout while waiting for state to become 'ACTIVE'": everyCodeBut("ERR_INFRA_DEPENDENCIES"),
}

// givenUp are messages of which nobody is to blame, and besideGivenUp what says nothing of the cloud beside them.
var (
	givenUp = []string{"context deadline exceeded", "context has been cancelled",
		"dial tcp 10.0.0.1:443: i/o timeout"}
	besideGivenUp = []string{"InternalServerError", "Internal Error: try later",
		"timeout while waiting for state to become 'ACTIVE'"}
)

func everyCodeBut(one gardencorev1beta1.ErrorCode) []gardencorev1beta1.ErrorCode {
	var codes []gardencorev1beta1.ErrorCode
	for code := range knownTexts {
		if code != one {
			codes = append(codes, code)
		}
	}
	return codes
}

// TestClassify: each class has its code.
func TestClassify(t *testing.T) {
	t.Parallel()
	for code, messages := range knownTexts {
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
	want := []gardencorev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED", "ERR_INFRA_RATE_LIMITS_EXCEEDED",
		"ERR_INFRA_RESOURCES_DEPLETED"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, message := range []string{
		"", "connection refused", "context deadline exceeded", `secrets "x" not found`,
		"the object has been modified; please apply your changes to the latest version",
		"conflicting answers", "waiting for the machine", "the network is unreachable: the address was used 3 times",
	} {
		if codes := Classify(message); len(codes) > 0 {
			t.Errorf("%q: %v", message, codes)
		}
	}
}

// TestClassify_ReportedTexts: messages that had a wrong code.
func TestClassify_ReportedTexts(t *testing.T) {
	t.Parallel()
	for message, want := range map[string][]gardencorev1beta1.ErrorCode{
		`network.SubnetsClient#Get: StatusCode=429 -- Original Error: autorest: Code="OperationNotAllowed" Message="The ` +
			`request was refused because too many requests were sent"`: {"ERR_INFRA_RATE_LIMITS_EXCEEDED"},
		`an error on the server ("Internal Server Error: \"/apis/core.gardener.cloud/v1beta1/seeds\": context deadline ` +
			`exceeded (Client.Timeout exceeded while awaiting headers)") has prevented the request from succeeding`: nil,
		"Future#WaitForCompletion: context has been cancelled: StatusCode=200 -- " +
			"Original Error: context deadline exceeded": nil,
		`Code="OperationNotAllowed" Message="Operation could not be completed: it exceeds the approved cores quota"`: {
			"ERR_INFRA_QUOTA_EXCEEDED"},
		"googleapi: Error 403: Quota 'CPUS' exceeded. Limit: 24.0 in region r., quotaExceeded": {
			"ERR_INFRA_QUOTA_EXCEEDED"},
		"googleapi: Error 403: Rate Limit Exceeded, rateLimitExceeded": {
			"ERR_INFRA_RATE_LIMITS_EXCEEDED"},
		"timeout while waiting for state to become 'running' (last reason: Server.InsufficientInstanceCapacity)": {
			"ERR_INFRA_RESOURCES_DEPLETED"},
		"VpcLimitExceeded: 5 VPCs are the most; then RequestLimitExceeded": {
			"ERR_INFRA_QUOTA_EXCEEDED", "ERR_INFRA_RATE_LIMITS_EXCEEDED"},
	} {
		if diff := cmp.Diff(want, Classify(message)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", message, diff)
		}
	}
}

// TestClassify_Pairs_SpecificWins: two errors in one message have the codes of both, but for general words beside
// specific ones, whatever stands first and however they are joined.
func TestClassify_Pairs_SpecificWins(t *testing.T) {
	t.Parallel()
	type text struct {
		says string
		code gardencorev1beta1.ErrorCode // "" for none
	}
	var all []text
	for code, messages := range knownTexts {
		for _, message := range messages {
			all = append(all, text{message, code})
		}
	}
	for _, message := range givenUp {
		all = append(all, text{message, ""})
	}
	loses := func(a, b text) bool {
		if _, general := generalTexts[b.says]; general {
			return false
		}
		if b.code == "" {
			return slices.Contains(givenUp, b.says) && slices.Contains(besideGivenUp, a.says)
		}
		return slices.Contains(generalTexts[a.says], b.code)
	}
	pairs := 0
	for _, a := range all {
		for _, b := range all {
			want := map[gardencorev1beta1.ErrorCode]bool{}
			if a.code != "" && !loses(a, b) {
				want[a.code] = true
			}
			if b.code != "" && !loses(b, a) {
				want[b.code] = true
			}
			for _, separator := range []string{"; ", " "} {
				pairs++
				got := map[gardencorev1beta1.ErrorCode]bool{}
				for _, code := range Classify(a.says + separator + b.says) {
					got[code] = true
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q (-want +got):\n%s", a.says+separator+b.says, diff)
				}
			}
		}
	}
	if pairs < 10000 {
		t.Errorf("only %d pairs", pairs)
	}
}
