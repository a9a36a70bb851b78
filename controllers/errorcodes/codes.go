// Package errorcodes knows the error codes of docs/specification/care.md#spec-5-8: what they mean, which error messages
// deserve which, and what they decide about an operation that failed (docs/specification/care.md#spec-5-9).
//
// It is a leaf and pure. It makes no errors and carries no codes through them: that is up to whoever meets an error.
package errorcodes

import (
	"slices"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Code is an error code and what is to be known about it.
type Code struct {
	Code gardencorev1beta1.ErrorCode
	// Meaning is what has gone wrong.
	Meaning string
	// Retryable is whether trying again may help without anybody's doing. Where the seed documents are silent it is as in
	// Gardener (docs/specification/README.md#spec-0-0).
	Retryable bool
	// Remedy is what somebody can do.
	Remedy string
}

var known = []Code{
	{
		Code: gardencorev1beta1.ErrorInfraUnauthenticated, Meaning: "the cloud does not accept the credentials",
		Remedy: "put valid credentials into the secret of the shoot's credentials binding",
	},
	{
		Code: gardencorev1beta1.ErrorInfraUnauthorized, Meaning: "the credentials lack permissions",
		Remedy: "give the account the permissions that the error names",
	},
	{
		Code: gardencorev1beta1.ErrorInfraQuotaExceeded, Meaning: "a quota of the cloud account is used up",
		Remedy: "raise the quota, or use less",
	},
	{
		Code: gardencorev1beta1.ErrorInfraRateLimitsExceeded, Meaning: "the cloud throttles the requests of the account",
		Remedy: "wait: the controller manager retries a shoot that Failed with this code by itself; let fewer others use " +
			"the account",
	},
	{
		Code: gardencorev1beta1.ErrorInfraDependencies, Meaning: "something else in the cloud needs or blocks a resource",
		Remedy: "remove what the error names, or wait until the cloud has recovered, then retry",
	},
	{
		Code:      gardencorev1beta1.ErrorRetryableInfraDependencies,
		Meaning:   "something else in the cloud blocks a resource for the moment",
		Retryable: true, Remedy: "none: it passes",
	},
	{
		Code: gardencorev1beta1.ErrorInfraResourcesDepleted, Meaning: "the cloud has no capacity left",
		Retryable: true, Remedy: "choose another machine type or zone if it lasts",
	},
	{
		Code: gardencorev1beta1.ErrorCleanupClusterResources, Meaning: "objects in the cluster are stuck in deletion",
		Retryable: true, Remedy: "see why the finalizers of the objects named are not removed, or remove them",
	},
	{
		Code: gardencorev1beta1.ErrorConfigurationProblem, Meaning: "the configuration is wrong",
		Remedy: "correct what the error names in the shoot's specification or in its cloud account",
	},
	{
		Code:      gardencorev1beta1.ErrorRetryableConfigurationProblem,
		Meaning:   "the configuration stands in the way for the moment",
		Retryable: true, Remedy: "correct what the error names, for example a PodDisruptionBudget that allows no eviction",
	},
	{
		Code: gardencorev1beta1.ErrorProblematicWebhook, Meaning: "a webhook of the user is in the way",
		Remedy: "exempt kube-system from the webhook, lower its timeout, or let it ignore failures",
	},
}

// All are the known codes, in the order of docs/specification/care.md#spec-5-8. The list is the caller's own.
func All() []Code { return slices.Clone(known) }

// Lookup finds a code.
func Lookup(code gardencorev1beta1.ErrorCode) (Code, bool) {
	for _, k := range known {
		if k.Code == code {
			return k, true
		}
	}
	return Code{}, false
}

// NonRetryable is whether one of the codes says that no retry will help. Codes that nobody knows are retried.
func NonRetryable(codes ...gardencorev1beta1.ErrorCode) bool {
	return slices.ContainsFunc(codes, func(code gardencorev1beta1.ErrorCode) bool {
		k, found := Lookup(code)
		return found && !k.Retryable
	})
}
