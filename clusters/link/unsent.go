package link

import "net/http"

const proxyStatus = "Proxy-Status" // RFC 9209

// unsentStatus is what a link answers when there is no connection to the target.
const unsentStatus = "link; error=destination_unavailable"

// Unsent tells by the header of an answer whether the link has given it because it could not connect to the target:
// then the request has had no effect there. Without a link the client itself would have got no connection.
func Unsent(answer http.Header) bool { return answer.Get(proxyStatus) == unsentStatus }

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
