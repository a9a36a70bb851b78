package process

import "strings"

// inherited are the variables of its parent that each process gets. They say where things are and how Go programs run,
// and are no secrets. The others may be: credentials of the user, or settings such as ETCD_* and AWS_*.
var inherited = []string{
	"PATH", "HOME", "USER", "TMPDIR", "TZ", "LANG", "LC_*", "XDG_*", "SSL_CERT_FILE", "SSL_CERT_DIR", "TRANSPLANT_*",
	"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GORACE",
}

// inherit returns those of the variables that a process gets which needs more than the others.
func inherit(variables, more []string) (kept []string) {
	for _, variable := range variables {
		name, _, _ := strings.Cut(variable, "=")
		if names(inherited, name) || names(more, name) {
			kept = append(kept, variable)
		}
	}
	return kept
}

// names tells whether a variable is among the patterns.
func names(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if prefix, is := strings.CutSuffix(pattern, "*"); name == pattern || is && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
