package cloud

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is the class of an error. Callers branch on it, never on the text; the text reads like a real provider's, so
// that an extension's own classification (docs/specification/care.md#spec-5-8) has something to recognise.
type Code string

// The codes of the cloud.
const (
	CodeInvalid             Code = "Invalid"             // the request itself is wrong
	CodeNotFound            Code = "NotFound"            // the object does not exist
	CodeAlreadyExists       Code = "AlreadyExists"       // create-only found an object, or a unique name is taken
	CodeConflict            Code = "Conflict"            // compare-and-set found another value
	CodeUnauthenticated     Code = "Unauthenticated"     // unknown credentials
	CodeUnauthorized        Code = "Unauthorized"        // known, but not allowed
	CodeQuotaExceeded       Code = "QuotaExceeded"       // a quota of the account
	CodeRateLimited         Code = "RateLimited"         // too many calls
	CodeDependencyViolation Code = "DependencyViolation" // something else still uses the object
	CodeRetryableDependency Code = "RetryableDependency" // the same, but it will pass by itself
	CodeDepleted            Code = "Depleted"            // the provider has no capacity left
	CodeStaleEpoch          Code = "StaleEpoch"          // the caller's epoch has been superseded
	CodeInternal            Code = "Internal"            // the provider's fault
	CodeUnavailable         Code = "Unavailable"         // the service cannot answer now
	CodeDamaged             Code = "Damaged"             // an object's content does not match its digest
)

var statusOf = map[Code]int{
	CodeInvalid:             http.StatusBadRequest,
	CodeNotFound:            http.StatusNotFound,
	CodeAlreadyExists:       http.StatusConflict,
	CodeConflict:            http.StatusPreconditionFailed,
	CodeUnauthenticated:     http.StatusUnauthorized,
	CodeUnauthorized:        http.StatusForbidden,
	CodeQuotaExceeded:       http.StatusForbidden,
	CodeRateLimited:         http.StatusTooManyRequests,
	CodeDependencyViolation: http.StatusConflict,
	CodeRetryableDependency: http.StatusConflict,
	CodeDepleted:            http.StatusServiceUnavailable,
	CodeStaleEpoch:          http.StatusForbidden,
	CodeInternal:            http.StatusInternalServerError,
	CodeUnavailable:         http.StatusServiceUnavailable,
	CodeDamaged:             http.StatusInternalServerError,
}

// Known says whether the code is one of those above.
func (c Code) Known() bool { return statusOf[c] != 0 }

// Status is the HTTP status that goes with the code; 500 for an unknown one.
func (c Code) Status() int {
	if status := statusOf[c]; status != 0 {
		return status
	}
	return http.StatusInternalServerError
}

// Error is what the cloud answers when it refuses. Reason is the provider's own word, e.g. "NetworkLimitExceeded".
type Error struct {
	Code      Code   `json:"code"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	RequestID string `json:"requestID,omitempty"`
}

// Error reads like a provider's message: "NetworkLimitExceeded: The maximum number …, request id: …".
func (e *Error) Error() string {
	if e.RequestID == "" {
		return fmt.Sprintf("%s: %s", e.Reason, e.Message)
	}
	return fmt.Sprintf("%s: %s, request id: %s", e.Reason, e.Message, e.RequestID)
}

// CodeOf is the code of the cloud's error in the chain, or empty when there is none: no answer came, or the error is
// another's.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// IsNotFound says that the object does not exist.
func IsNotFound(err error) bool { return CodeOf(err) == CodeNotFound }

// ReasonNoSuchBucket is the reason of an error of code NotFound if there is not even the bucket.
const ReasonNoSuchBucket = "NoSuchBucket"

// IsNoSuchBucket says that a call about an object has found no bucket.
func IsNoSuchBucket(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Reason == ReasonNoSuchBucket
}

// IsAlreadyExists says that a create-only write found an object, or that a unique name is taken.
func IsAlreadyExists(err error) bool { return CodeOf(err) == CodeAlreadyExists }

// IsDamaged says that an object's content does not match its digest.
func IsDamaged(err error) bool { return CodeOf(err) == CodeDamaged }

// IsConflict says that a compare-and-set found another value.
func IsConflict(err error) bool { return CodeOf(err) == CodeConflict }

// IsStaleEpoch says that the caller's epoch has been superseded: it no longer owns the shoot.
func IsStaleEpoch(err error) bool { return CodeOf(err) == CodeStaleEpoch }
