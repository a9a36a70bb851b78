package run

import (
	"fmt"

	"github.com/transplant-sim/transplant/sim/verdict"
)

// ended is the error of a command that has done its work, with the exit code that the verdict asks for.
type ended struct{ verdict verdict.Verdict }

func (e ended) Error() string { return fmt.Sprintf("the verdict is %s", e.verdict) }

// ExitCode of the program (docs/ci.md).
func (e ended) ExitCode() int { return e.verdict.ExitCode() }

// notRun is the error of a command that failed before a verdict.
type notRun struct{ error }

// ExitCode of the program (docs/ci.md).
func (u notRun) ExitCode() int { return verdict.Error.ExitCode() }

func (u notRun) Unwrap() error { return u.error }

// result of a command with this verdict.
func result(v verdict.Verdict) error {
	if v == verdict.Passed {
		return nil
	}
	return ended{v}
}
