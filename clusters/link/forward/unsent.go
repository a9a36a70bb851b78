package forward

import "net/http"

const proxyStatus = "Proxy-Status" // RFC 9209

const (
	// unsentStatus is what a link answers when there is no connection to the target.
	unsentStatus = "link; error=destination_unavailable"
	// deniedStatus is what a fault answers in place of the target.
	deniedStatus = "link; error=http_request_denied"
)

// Unsent says, by the header of an answer, whether the link has given it because it could not connect to the target, or
// a fault in the target's place: then the request has had no effect there.
func Unsent(answer http.Header) bool {
	status := answer.Get(proxyStatus)
	return status == unsentStatus || status == deniedStatus
}

// MarkDenied says, in the header of an answer, that a fault gives it in place of the target.
func MarkDenied(answer http.Header) { answer.Set(proxyStatus, deniedStatus) }

// unsentError is that of a connection that was not made.
type unsentError struct{ error }

// Unwrap is why.
func (e unsentError) Unwrap() error { return e.error }

func unsent(err error) error {
	if err == nil {
		return nil
	}
	return unsentError{err}
}
