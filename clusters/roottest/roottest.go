// Package roottest decides what becomes of tests that need root's rights on a machine that does not give them. It takes
// no rights, and gives none.
package roottest

import (
	"os"
	"testing"
)

// required is the environment variable under which tests fail that lack rights. CI sets it; elsewhere they are skipped.
const required = "TRANSPLANT_REQUIRE_ROOT"

// Need root for a test, and say what for.
func Need(t testing.TB, what string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Lack(t, "only root may "+what)
	}
}

// Lack ends a test that has too few rights, and says which: it is skipped, or fails where rights are required.
func Lack(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(required) != "" {
		t.Fatalf("%s, and %s wants the test to run", why, required)
	}
	t.Skip(why)
}
