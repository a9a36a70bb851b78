// Package integrationtest marks tests that start Kubernetes, etcd, Prometheus, a browser or transplant. "make unit"
// skips them. "make test" always runs the packages with such a test, which it finds by their import of this package,
// also through a test kit. Results of other packages may come from the cache of go test. It starts nothing.
package integrationtest

import "testing"

// Mark a test with what it starts, before it does: with -short it is skipped.
func Mark(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skip(what + ": not with -short")
	}
}
