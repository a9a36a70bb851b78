package errorcodes

import (
	"regexp"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// class is a way in which clouds, and what runs on them, speak of one kind of failure (SPEC 5.8).
type class struct {
	code gardencorev1beta1.ErrorCode
	says *regexp.Regexp
}

var classes = slices.Concat(
	of(gardencorev1beta1.ErrorInfraUnauthenticated,
		`(?i)unauthenticated|authentication ?failed|AuthFailure|InvalidAuthenticationToken`,
		`(?i)invalid[ _]?(client|tenant|subscription|access[ _]?key|secret[ _]?(access[ _]?)?key)|invalid (authentication )?token`,
		`(?i)(cannot|could not|unable to|failed to) (obtain|fetch|get|acquire|refresh) (an? |the )?(\w+ )?token`,
		`(?i)malformed credential|credentials? .*(malformed|(invalid|illegal) character)`,
	),
	of(gardencorev1beta1.ErrorInfraUnauthorized,
		`(?i)unauthori[sz]ed|not authori[sz]ed|authori[sz]ation ?failed|access ?denied|permission ?denied|(error|status|code)[ :=]+403\b`,
		`(?i)signature ?does ?not ?match|signature mismatch`,
		`(?i)invalid[_ ]grant`,
		`(?i)service[ _]account[ _](access[ _])?denied`,
		`(?i)operation ?(is )?not ?(allowed|permitted)`,
		`(?i)no active subscriptions?`,
	),
	of(gardencorev1beta1.ErrorInfraQuotaExceeded,
		`(?i)LimitExceeded`,
		`(?i)quotas?\b.*\b(exceeded|has been met)|(exceed(s|ed|ing)?|exhausted) .*\bquotas?\b|QUOTA_?EXCEEDED|QuotaExceeded`,
		`(?i)maximum number of ports (is )?exceeded|ExceedsAvailableQuota`,
		`(?i)zone[ _]resource[ _]pool[ _]exhausted|resource pool (is )?exhausted`,
	),
	of(gardencorev1beta1.ErrorInfraRateLimitsExceeded,
		`(?i)RequestLimitExceeded|rate ?limit ?exceeded`,
		`(?i)\bthrottl(ed|ing)`,
		`(?i)too ?many ?requests`,
	),
	of(gardencorev1beta1.ErrorInfraDependencies,
		`(?i)DependencyViolation`,
		`\b(Delete)?Conflict\b`,
		`(?i)InUse\w*CannotBeDeleted|VnetInUse|InUseSubnet|InUseRouteTable|(subnet|vnet|network|route table)\b.*\b(in use|being used|used by)\b`,
		`(?i)billing\b.*\binactive|inactive billing|InternalBillingError`,
		`(?i)PendingVerification|account\b.*verification\b.*pending|pending verification`,
		`(?i)internal ?(server)? ?error\b`,
		`(?i)timeout while waiting for state`,
		`(?i)InsufficientFreeAddresses|no free (ip )?addresses`,
		`(?i)not enough hosts`,
	),
	of(gardencorev1beta1.ErrorRetryableInfraDependencies,
		`RetryableError`,
	),
	of(gardencorev1beta1.ErrorInfraResourcesDepleted,
		`(?i)insufficient ?\w* ?capacity`,
		`(?i)sku ?(is )?not ?available`,
		`(?i)zonal ?allocation ?failed`,
		`(?i)out of (stock|capacity)`,
	),
	of(gardencorev1beta1.ErrorConfigurationProblem,
		`(?i)invalid ?parameter|invalid value|InvalidSubnet|invalid subnet|invalid ?cidr|invalid vpc attributes?`,
		`\bnotFound\b|\.NotFound\b`,
		`(?i)unsupported (availability )?zone|not supported in your requested availability zone|InvalidZone`,
		`(?i)(violate[sd]?|violation of) (the )?(\w+ )?constraint|constraint .*(was|is) violated`,
		`(?i)(unknown|unrecognized) feature gate`,
		`(?i)invalid runtime-?config|runtime-config invalid`,
		`(?i)strict decod(ing|er) error`,
		`(?i)error during apply of object .* is invalid`,
		`(?i)overlapping (\w+ )?zones?|zones? .*\boverlap`,
		`KubeletHasInsufficientMemory|KubeletHasDiskPressure|KubeletHasInsufficientPID`,
	),
	of(gardencorev1beta1.ErrorRetryableConfigurationProblem,
		`(?i)misconfigured .*pod ?disruption ?budget|pod ?disruption ?budget\b.*(misconfigured|zero voluntary evictions)|is misconfigured and requires zero voluntary evictions`,
		`(?i)CanNotResolveEndpoint|endpoint\b.*\b(not resolvable|cannot be resolved|could not be resolved)`,
		`(?i)(configuration )?(is )?currently (not supported|unsupported)`,
	),
)

func of(code gardencorev1beta1.ErrorCode, patterns ...string) []class {
	var found []class
	for _, pattern := range patterns {
		found = append(found, class{code: code, says: regexp.MustCompile(pattern)})
	}
	return found
}

// requestLimit is how a throttled request is spelled: no exceeded quota, although it reads like one.
var requestLimit = regexp.MustCompile(`(?i)(Request|Rate)LimitExceeded`)

// Classify gives the codes that an error message deserves, in the order of SPEC 5.8 and each once. Most messages deserve
// none. What an API server refuses is no matter of the cloud: pass only what the cloud, a node or a user's configuration
// is to blame for.
func Classify(message string) []gardencorev1beta1.ErrorCode {
	withoutThrottling := strings.TrimSpace(requestLimit.ReplaceAllString(message, " "))
	var codes []gardencorev1beta1.ErrorCode
	for _, c := range classes {
		text := message
		if c.code == gardencorev1beta1.ErrorInfraQuotaExceeded {
			text = withoutThrottling
		}
		if !slices.Contains(codes, c.code) && c.says.MatchString(text) {
			codes = append(codes, c.code)
		}
	}
	return codes
}
