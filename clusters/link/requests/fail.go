package requests

import (
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Fail answers requests with a status of an API server, in a form that the client accepts. The server does not see
// them.
type Fail struct {
	Match kubeapi.Match `json:"match,omitzero"`
	Turn  Turn          `json:"turn,omitzero"`
	// Status is the HTTP status, from 400 on.
	Status int `json:"status"`
	// Reason and Message are those of an API server when not given.
	Reason  metav1.StatusReason `json:"reason,omitempty"`
	Message string              `json:"message,omitempty"`
	// RetryAfter says when the client should try again, in whole seconds; one second when not given for status 429. Most
	// clients then try again by themselves.
	RetryAfter metav1.Duration `json:"retryAfter,omitzero"`
}

var _ Fault = Fail{}

// Name is "Fail(status,requests)".
func (f Fail) Name() string { return fmt.Sprintf("Fail(%d,%s)", f.Status, f.Match) }

// Validate wants a status of a failure.
func (f Fail) Validate() error {
	if f.Status < http.StatusBadRequest || f.Status > 599 {
		return fmt.Errorf("status %d: must be from 400 to 599", f.Status)
	}
	if f.RetryAfter.Duration < 0 {
		return fmt.Errorf("retryAfter %s: must not be negative", f.RetryAfter.Duration)
	}
	return valid(f.Match, f.Turn)
}

// Turns says which of the selected requests are hit.
func (f Fail) Turns() Turn { return f.Turn }

// Start begins the fault on one link.
func (f Fail) Start() Effect {
	return Effect{Match: f.Match, Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
		if !a.NextTurn() {
			next(x)
			return
		}
		retryAfter := f.RetryAfter.Duration
		if retryAfter == 0 && f.Status == http.StatusTooManyRequests {
			retryAfter = time.Second // as API servers do
		}
		if !a.deny(x, x.Request.Refusal(f.Status, f.Reason, f.Message, retryAfter)) {
			next(x)
		}
	}}
}

// MarshalJSON writes the fault with its type.
func (f Fail) MarshalJSON() ([]byte, error) {
	type plain Fail
	return faultjson.Marshal("Fail", plain(f))
}
