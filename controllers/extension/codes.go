package extension

import (
	"errors"
	"regexp"
	"strings"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// codePattern ties an error code of SPEC 5.8 to what clouds say when it applies.
type codePattern struct {
	code  gardencorev1beta1.ErrorCode
	match *regexp.Regexp
}

var codePatterns = []codePattern{
	{gardencorev1beta1.ErrorInfraUnauthenticated, regexp.MustCompile(`(?i)unauthenticated|AuthFailure|authentication failed|invalid(clienttoken| client| tenant| subscription| access key| secret key| token)|cannot obtain token|malformed credential`)},
	{gardencorev1beta1.ErrorInfraUnauthorized, regexp.MustCompile(`(?i)unauthori[sz]ed|not authori[sz]ed|access ?denied|forbidden|signature ?(does ?not ?match|mismatch)|invalid_?grant|operation ?not ?(allowed|permitted)|no active subscription`)},
	{gardencorev1beta1.ErrorInfraQuotaExceeded, regexp.MustCompile(`(?i)quotas? ?(\w+ )*exceeded|exceed(s|ed|ing)? (\w+ )*quota|LimitExceeded|resource pool exhausted`)},
	{gardencorev1beta1.ErrorInfraRateLimitsExceeded, regexp.MustCompile(`(?i)RequestLimitExceeded|throttl(ed|ing)|too ?many ?requests|rate ?limit`)},
	{gardencorev1beta1.ErrorInfraDependencies, regexp.MustCompile(`(?i)DependencyViolation|DeleteConflict|(is|still) in ?use|InUse\b|billing (\w+ )*inactive|account verification|internal ?(server ?)?error|timeout while waiting for state|no free addresses|not enough hosts`)},
	{gardencorev1beta1.ErrorRetryableInfraDependencies, regexp.MustCompile(`(?i)retryable`)},
	{gardencorev1beta1.ErrorInfraResourcesDepleted, regexp.MustCompile(`(?i)insufficient(\w*| \w+) ?capacity|sku ?not ?available|allocation ?failed|out ?of ?(stock|capacity)`)},
	{gardencorev1beta1.ErrorConfigurationProblem, regexp.MustCompile(`(?i)invalid ?(parameter|value|subnet|cidr|vpc|request)|\.NotFound|unsupported zone|unknown zone|violated constraint|strict decoding error|overlap`)},
	{gardencorev1beta1.ErrorRetryableConfigurationProblem, regexp.MustCompile(`(?i)misconfigured pod ?disruption ?budget|endpoint not resolvable|currently unsupported`)},
}

// requestLimit is how a throttled request is spelled: not an exceeded quota, although it reads like one.
const requestLimit = "RequestLimitExceeded"

// Classify adds the codes that an error of the cloud deserves, by its text as a real provider's would (SPEC 5.8).
// Errors of anybody else stay as they are: what an API server forbids is no matter of cloud permissions.
func Classify(err error) error {
	refused, ok := errors.AsType[*cloud.Error](err)
	if !ok {
		return err
	}
	return contract.WithCodes(err, codesOf(refused.Error())...)
}

func codesOf(text string) []gardencorev1beta1.ErrorCode {
	var codes []gardencorev1beta1.ErrorCode
	for _, p := range codePatterns {
		looked := text
		if p.code == gardencorev1beta1.ErrorInfraQuotaExceeded {
			looked = strings.ReplaceAll(text, requestLimit, "")
		}
		if p.match.MatchString(looked) {
			codes = append(codes, p.code)
		}
	}
	return codes
}
