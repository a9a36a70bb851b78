package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// Pending is returned by an action that has done what it could and waits for something outside. It is no failure:
// the request stays, the object keeps Processing with the reason as its description, and the action is called again.
type Pending struct {
	For   string
	After time.Duration
	// Still says whether that is waited for by what watches have shown. While it is, events beside the object do not call
	// the action, only a new request or time does: After asks the API server once, and calls it then. Nil: every event
	// calls it.
	Still func(ctx context.Context, known client.Reader) bool
	// Rest continues the action after the wait. It is called instead of the action if watches show what was waited for,
	// for the same request and generation. Nil: the action is called.
	Rest func(ctx context.Context, obj extensionsv1alpha1.Object, cluster *Cluster) error
}

// Error says what is waited for.
func (p *Pending) Error() string { return "waiting for " + p.For }

// WaitingFor makes a Pending with the format of fmt.Sprintf.
func WaitingFor(after time.Duration, format string, args ...any) error {
	return &Pending{For: fmt.Sprintf(format, args...), After: after}
}

// coded is an error with the error codes of docs/specification/care.md#spec-5-8.
type coded struct {
	Err       error
	ErrorCode []gardencorev1beta1.ErrorCode
}

func (c *coded) Error() string { return c.Err.Error() }

// Unwrap gives the error without its codes.
func (c *coded) Unwrap() error { return c.Err }

// WithCodes adds codes to an error; nil stays nil.
func WithCodes(err error, codes ...gardencorev1beta1.ErrorCode) error {
	if err == nil || len(codes) == 0 {
		return err
	}
	return &coded{Err: err, ErrorCode: codes}
}

// Codes collects the codes of an error and of everything it wraps or joins, sorted and without duplicates.
func Codes(err error) []gardencorev1beta1.ErrorCode {
	var codes []gardencorev1beta1.ErrorCode
	collect(err, &codes)
	slices.Sort(codes)
	return slices.Compact(codes)
}

func collect(err error, into *[]gardencorev1beta1.ErrorCode) {
	if c, ok := err.(*coded); ok { //nolint:errorlint // the whole tree is walked here, node by node
		*into = append(*into, c.ErrorCode...)
	}
	switch wrapped := err.(type) { //nolint:errorlint // the whole tree is walked here, node by node
	case interface{ Unwrap() []error }:
		for _, e := range wrapped.Unwrap() {
			collect(e, into)
		}
	case interface{ Unwrap() error }:
		if e := wrapped.Unwrap(); e != nil {
			collect(e, into)
		}
	}
}

// tooLarge recognises the refusals of an API server and its etcd of objects above their limits
// (docs/specification/migration.md#spec-2-11, docs/specification/state-size.md#spec-9-5). Two of the three arrive as
// status 500 without a reason, so that only the text shows it.
func tooLarge(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	text := status.Status().Message
	return strings.Contains(text, "etcdserver: request is too large") ||
		strings.Contains(text, "trying to send message larger than max")
}
