package cloud

import (
	"fmt"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// refuse makes an error with a provider's word for it.
func refuse(code api.Code, reason, format string, arguments ...any) *api.Error {
	return &api.Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// singular is how messages call one object of a kind, e.g. "security group"; joined it is part of a reason.
func singular(kind string) string {
	return strings.ReplaceAll(strings.TrimSuffix(kind, "s"), "-", " ")
}

// title is the kind as providers write it in reasons, e.g. "SecurityGroup".
func title(kind string) string {
	var text strings.Builder
	for word := range strings.FieldsSeq(singular(kind)) {
		text.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return text.String()
}

func notFound(kind, id string) *api.Error {
	return refuse(api.CodeNotFound, "Invalid"+title(kind)+"ID.NotFound", "The %s ID '%s' does not exist", singular(kind),
		id)
}

func alreadyExists(kind, name string) *api.Error {
	return refuse(api.CodeAlreadyExists, "Invalid"+title(kind)+".Duplicate", "The %s '%s' already exists", singular(kind),
		name)
}

func invalid(format string, arguments ...any) *api.Error {
	return refuse(api.CodeInvalid, "InvalidParameterValue", format, arguments...)
}

func inUse(kind, id, by string) *api.Error {
	return refuse(api.CodeDependencyViolation, "DependencyViolation",
		"The %s '%s' has dependencies and cannot be deleted: in use by %s", singular(kind), id, by)
}

func conflict(format string, arguments ...any) *api.Error {
	return refuse(api.CodeConflict, "ConditionalCheckFailed", format, arguments...)
}

func staleEpoch(scope api.Scope, known int64) *api.Error {
	return refuse(api.CodeStaleEpoch, "OperationNotAllowed.StaleEpoch",
		"operation not allowed: epoch %d of '%s' has been superseded by epoch %d", scope.Epoch, scope.Shoot, known)
}

// standard is what a provider says for a code when nothing more is known; injected errors use it.
func standard(code api.Code, kind string) *api.Error {
	switch code {
	case api.CodeInvalid:
		return invalid("Value for a parameter is invalid: invalid value")
	case api.CodeNotFound:
		return refuse(code, "Invalid"+title(kind)+"ID.NotFound", "The %s does not exist", singular(kind))
	case api.CodeAlreadyExists:
		return refuse(code, "Invalid"+title(kind)+".Duplicate", "The %s already exists", singular(kind))
	case api.CodeConflict:
		return conflict("The conditional request failed")
	case api.CodeUnauthenticated:
		return refuse(code, "AuthFailure", "authentication failed: the provided credentials could not be validated")
	case api.CodeUnauthorized:
		return refuse(code, "UnauthorizedOperation", "You are not authorized to perform this operation: access denied")
	case api.CodeQuotaExceeded:
		return refuse(code, title(kind)+"LimitExceeded", "Quota exceeded: the maximum number of %s has been reached",
			strings.ReplaceAll(kind, "-", " "))
	case api.CodeRateLimited:
		return refuse(code, "RequestLimitExceeded", "Throttling: rate exceeded, too many requests")
	case api.CodeDependencyViolation:
		return refuse(code, "DependencyViolation", "The %s has dependencies: resource in use", singular(kind))
	case api.CodeRetryableDependency:
		return refuse(code, "RetryableError", "The %s depends on an operation that is still in progress, try again later",
			singular(kind))
	case api.CodeDepleted:
		return refuse(code, "InsufficientInstanceCapacity",
			"insufficient instance capacity: we currently do not have sufficient capacity in the zone you requested")
	case api.CodeStaleEpoch:
		return refuse(code, "OperationNotAllowed.StaleEpoch", "operation not allowed: the epoch has been superseded")
	case api.CodeUnavailable:
		return refuse(code, "ServiceUnavailable", "The service is unavailable, please try again shortly")
	default:
		return refuse(code, "InternalError", "An internal error has occurred: internal server error")
	}
}
