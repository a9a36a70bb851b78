// Package refusal makes the errors of the cloud: codes of api/cloud, with the reasons and the words that providers have
// for them. When a call is refused, the server decides.
package refusal

import (
	"errors"
	"fmt"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// New makes an error with a provider's word for it.
func New(code api.Code, reason, format string, arguments ...any) *api.Error {
	return &api.Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// Singular is how messages call one object of a kind, e.g. "security group"; joined it is part of a reason.
func Singular(kind string) string {
	return strings.ReplaceAll(strings.TrimSuffix(kind, "s"), "-", " ")
}

// title is the kind as providers write it in reasons, e.g. "SecurityGroup".
func title(kind string) string {
	var text strings.Builder
	for word := range strings.FieldsSeq(Singular(kind)) {
		text.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return text.String()
}

// NotFound says that there is no object of the kind with this id.
func NotFound(kind, id string) *api.Error {
	return New(api.CodeNotFound, "Invalid"+title(kind)+"ID.NotFound", "The %s ID '%s' does not exist", Singular(kind),
		id)
}

// AlreadyExists says that there is one of the kind with this name.
func AlreadyExists(kind, name string) *api.Error {
	return New(api.CodeAlreadyExists, "Invalid"+title(kind)+".Duplicate", "The %s '%s' already exists", Singular(kind),
		name)
}

// Invalid says what is wrong with a value.
func Invalid(format string, arguments ...any) *api.Error {
	return New(api.CodeInvalid, "InvalidParameterValue", format, arguments...)
}

// InUse says which other object keeps an object from being deleted.
func InUse(kind, id, by string) *api.Error {
	return New(api.CodeDependencyViolation, "DependencyViolation",
		"The %s '%s' has dependencies and cannot be deleted: in use by %s", Singular(kind), id, by)
}

// Conflict says which condition of a call does not hold.
func Conflict(format string, arguments ...any) *api.Error {
	return New(api.CodeConflict, "ConditionalCheckFailed", format, arguments...)
}

// StaleEpoch says that the scope of a call has been superseded by the known epoch.
func StaleEpoch(scope api.Scope, known int64) *api.Error {
	return New(api.CodeStaleEpoch, "OperationNotAllowed.StaleEpoch",
		"operation not allowed: epoch %d of '%s' has been superseded by epoch %d", scope.Epoch, scope.Shoot, known)
}

// Standard is what a provider says for a code when nothing more is known; injected errors use it.
func Standard(code api.Code, kind string) *api.Error {
	switch code {
	case api.CodeInvalid:
		return Invalid("Value for a parameter is invalid: invalid value")
	case api.CodeNotFound:
		return New(code, "Invalid"+title(kind)+"ID.NotFound", "The %s does not exist", Singular(kind))
	case api.CodeAlreadyExists:
		return New(code, "Invalid"+title(kind)+".Duplicate", "The %s already exists", Singular(kind))
	case api.CodeConflict:
		return Conflict("The conditional request failed")
	case api.CodeUnauthenticated:
		return New(code, "AuthFailure", "authentication failed: the provided credentials could not be validated")
	case api.CodeUnauthorized:
		return New(code, "UnauthorizedOperation", "You are not authorized to perform this operation: access denied")
	case api.CodeQuotaExceeded:
		return New(code, title(kind)+"LimitExceeded", "Quota exceeded: the maximum number of %s has been reached",
			strings.ReplaceAll(kind, "-", " "))
	case api.CodeRateLimited:
		return New(code, "RequestLimitExceeded", "Throttling: rate exceeded, too many requests")
	case api.CodeDependencyViolation:
		return New(code, "DependencyViolation", "The %s has dependencies: resource in use", Singular(kind))
	case api.CodeRetryableDependency:
		return New(code, "RetryableError", "The %s depends on an operation that is still in progress, try again later",
			Singular(kind))
	case api.CodeDepleted:
		return New(code, "InsufficientInstanceCapacity",
			"insufficient instance capacity: we currently do not have sufficient capacity in the zone you requested")
	case api.CodeStaleEpoch:
		return New(code, "OperationNotAllowed.StaleEpoch", "operation not allowed: the epoch has been superseded")
	case api.CodeUnavailable:
		return New(code, "ServiceUnavailable", "The service is unavailable, please try again shortly")
	default:
		return New(code, "InternalError", "An internal error has occurred: internal server error")
	}
}

// Of is the error in the form the caller gets: what is not a refusal of ours is an internal error.
func Of(err error) *api.Error {
	if known, ok := errors.AsType[*api.Error](err); ok {
		copied := *known
		return &copied
	}
	return New(api.CodeInternal, "InternalError", "An internal error has occurred: %v", err)
}
