package errorcodes

import (
	"slices"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Error is an error with the codes that it deserves (docs/specification/care.md#spec-5-8), for example an
// extension's own with those it gave.
type Error struct {
	Message string
	Codes   []gardencorev1beta1.ErrorCode
	// Cause may be nil. Its codes count as well.
	Cause error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Of returns the codes of an error and of all that it wraps, each once.
func Of(err error) []gardencorev1beta1.ErrorCode {
	var found []gardencorev1beta1.ErrorCode
	add := func(more []gardencorev1beta1.ErrorCode) {
		for _, code := range more {
			if !slices.Contains(found, code) {
				found = append(found, code)
			}
		}
	}
	if coded, is := err.(*Error); is { //nolint:errorlint // what it wraps comes next
		add(coded.Codes)
	}
	switch wrapping := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		add(Of(wrapping.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, wrapped := range wrapping.Unwrap() {
			add(Of(wrapped))
		}
	}
	return found
}
