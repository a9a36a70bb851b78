package errorcodes

import (
	"regexp"
	"slices"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// word is a way in which clouds, and what runs on them, speak of one kind of failure
// (docs/specification/care.md#spec-5-8).
type word struct {
	// code is what the word stands for; nobody where nobody's configuration and no cloud is to blame.
	code gardencorev1beta1.ErrorCode
	says *regexp.Regexp
	// yields are the codes beside which the word does not count: it is a general one, and something specific says what
	// has really happened. Specific words yield to none.
	yields []gardencorev1beta1.ErrorCode
}

// nobody is the code of words that deserve none.
const nobody gardencorev1beta1.ErrorCode = ""

// words are those that are known. Which word wins over which is said here, and nowhere else.
var words = slices.Concat(
	of(gardencorev1beta1.ErrorInfraUnauthenticated,
		`(?i)unauthenticated|authentication ?failed|AuthFailure|InvalidAuthenticationToken`,
		`(?i)invalid[ _]?(client|tenant|subscription|access[ _]?key|secret[ _]?(access[ _]?)?key)`,
		`(?i)invalid (authentication )?token`,
		`(?i)(cannot|could not|unable to|failed to) (obtain|fetch|get|acquire|refresh) (an? |the )?(\w+ )?token`,
		`(?i)malformed credential|credentials? [^;\n]*(malformed|(invalid|illegal) character)`,
	),
	of(gardencorev1beta1.ErrorInfraUnauthorized,
		`(?i)unauthori[sz]edOperation|not authori[sz]ed|authori[sz]ation ?failed|access ?denied|permission ?denied`,
		`(?i)signature ?does ?not ?match|signature mismatch`,
		`(?i)invalid[_ ]grant`,
		`(?i)service[_ ]account[ _](access[ _])?denied`,
		`(?i)no active subscriptions?`,
	),
	// The phrase of HTTP 401 says that somebody must log in.
	general(gardencorev1beta1.ErrorInfraUnauthorized,
		[]gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorInfraUnauthenticated},
		`(?i)unauthori[sz]ed\b`),
	// Clouds refuse with these what is too much, too, or not possible now.
	general(gardencorev1beta1.ErrorInfraUnauthorized, everyOther(gardencorev1beta1.ErrorInfraUnauthorized),
		`(?i)(error|status|code)[ :=]+403\b`,
		`(?i)operation ?(is )?not ?(allowed|permitted)`,
	),
	of(gardencorev1beta1.ErrorInfraQuotaExceeded,
		`(?i)LimitExceeded`,
		`(?i)quotas?\b[^;\n]*\b(exceeded|has been met)|(exceed(s|ed|ing)?|exhausted) [^;\n]*\bquotas?\b`,
		`(?i)QUOTA_?EXCEEDED`,
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
		`\bDeleteConflict\b`,
		`(?i)InUse\w*CannotBeDeleted|VnetInUse|InUseSubnet|InUseRouteTable`,
		`(?i)(subnet|vnet|network|route table)\b[^;\n]*\b(in use|being used|used by)\b`,
		`(?i)billing\b[^;\n]*\binactive|inactive billing|InternalBillingError`,
		`(?i)PendingVerification|account\b[^;\n]*verification\b[^;\n]*pending|pending verification`,
		`(?i)InsufficientFreeAddresses|no free (ip )?addresses`,
		`(?i)not enough hosts`,
	),
	general(gardencorev1beta1.ErrorInfraDependencies, everyOther(gardencorev1beta1.ErrorInfraDependencies),
		`\bConflict\b`),
	// Who was not answered in time does not know what the other one lacks.
	general(gardencorev1beta1.ErrorInfraDependencies, append(everyOther(gardencorev1beta1.ErrorInfraDependencies), nobody),
		`(?i)internal ?(server)? ?error\b`,
		`(?i)timeout while waiting for state`,
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
		`(?i)(violate[sd]?|violation of) (the )?(\w+ )?constraint|constraint [^;\n]*(was|is) violated`,
		`(?i)(unknown|unrecognized) feature gate`,
		`(?i)invalid runtime-?config|runtime-config invalid`,
		`(?i)strict decod(ing|er) error`,
		`(?i)error during apply of object [^;\n]* is invalid`,
		`(?i)overlapping (\w+ )?zones?|zones? [^;\n]*\boverlap`,
		`KubeletHasInsufficientMemory|KubeletHasDiskPressure|KubeletHasInsufficientPID`,
	),
	of(gardencorev1beta1.ErrorRetryableConfigurationProblem,
		`(?i)misconfigured [^;\n]*pod ?disruption ?budget`,
		`(?i)pod ?disruption ?budget\b[^;\n]*(misconfigured|zero voluntary evictions)`,
		`(?i)is misconfigured and requires zero voluntary evictions`,
		`(?i)CanNotResolveEndpoint|endpoint\b[^;\n]*\b(not resolvable|cannot be resolved|could not be resolved)`,
		`(?i)(configuration )?(is )?currently (not supported|unsupported)`,
	),
	// In the words of an API server. Whoever is refused knows whose webhook it was.
	of(gardencorev1beta1.ErrorProblematicWebhook,
		`failed calling webhook "|failed to call webhook`,
		`admission webhook "[^"]*" (denied the request|attempted to modify)`,
		`conversion webhook for [^;\n]+ failed`,
	),
	of(nobody,
		`context deadline exceeded|context (has been )?cancell?ed|Client\.Timeout exceeded`,
		`an error on the server \(`, // of Kubernetes, in the words of its client
		`(?i)(i/o|TLS handshake|request) (timeout|timed out)`,
	),
)

// of are specific words.
func of(code gardencorev1beta1.ErrorCode, patterns ...string) []word {
	return general(code, nil, patterns...)
}

// general are words that yield to specific ones of these codes.
func general(code gardencorev1beta1.ErrorCode, to []gardencorev1beta1.ErrorCode, patterns ...string) []word {
	var found []word
	for _, pattern := range patterns {
		found = append(found, word{code: code, says: regexp.MustCompile(pattern), yields: to})
	}
	return found
}

// everyOther are all codes but one.
func everyOther(than gardencorev1beta1.ErrorCode) []gardencorev1beta1.ErrorCode {
	var others []gardencorev1beta1.ErrorCode
	for _, k := range known {
		if k.Code != than {
			others = append(others, k.Code)
		}
	}
	return others
}
