package process

import (
	"slices"
	"strings"
)

// inherited are the variables of its parent that each process gets. They say where things are and how Go programs run,
// and are no secrets. The others may be: credentials of the user, or settings such as ETCD_* and AWS_*.
var inherited = []string{
	"PATH", "HOME", "USER", "TMPDIR", "TZ", "LANG", "LC_*", "XDG_*", "SSL_CERT_FILE", "SSL_CERT_DIR", "TRANSPLANT_*",
	"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GORACE",
}

// inherit returns those of the variables that a process gets which needs more than the others.
func inherit(variables, more []string) []string {
	return slices.DeleteFunc(variables, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.ContainsFunc(slices.Concat(inherited, more), func(pattern string) bool {
			prefix, is := strings.CutSuffix(pattern, "*")
			return name == pattern || is && strings.HasPrefix(name, prefix)
		})
	})
}

// GoDebug is the variable GODEBUG of every program of a landscape, of which the user may have set some. Connections
// agree on keys without ML-KEM, which doubles the processor time of a TLS handshake. It protects recorded traffic
// from quantum computers, and here no traffic leaves the machine.
func GoDebug(set string) string { return strings.Trim(set+",tlsmlkem=0", ",") }
