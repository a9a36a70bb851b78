package forward

import (
	"net/http"
	"net/textproto"
	"strings"
)

// hopByHop reports whether a header belongs to one connection (RFC 9110, 7.6.1) and ends at the link. Te is handled by
// the forwarder, Trailer by both HTTP libraries.
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// copyHeader shares the values of all headers that are not bound to a connection.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		if !hopByHop(name) {
			to[name] = values
		}
	}
	for _, line := range from["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			delete(to, textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)))
		}
	}
}
