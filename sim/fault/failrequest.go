package fault

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// FailRequest answers requests with an error of an API server, which does not see them.
type FailRequest struct {
	Requests `json:",inline"`
	// Status is the HTTP status, such as 503.
	Status int `json:"status"`
	// Reason in the answer, such as ServiceUnavailable; the usual one when not given.
	Reason metav1.StatusReason `json:"reason,omitempty"`
	// Message in the answer.
	Message string `json:"message,omitempty"`
	// RetryAfter asks the client to try again then, which most clients do by themselves.
	RetryAfter metav1.Duration `json:"retryAfter,omitzero"`
}

var _ Fault = &FailRequest{}

func (f *FailRequest) harm() link.Fault {
	return requests.Fail{Match: f.match(), Turn: f.Turn, Status: f.Status, Reason: f.Reason, Message: f.Message,
		RetryAfter: f.RetryAfter}
}

// Name is "failRequest(actor,target,what)".
func (f *FailRequest) Name() string { return f.name("failRequest", f.match()) }

// Check finds unknown links, verbs and statuses.
func (f *FailRequest) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return f.check(path, on, f.harm())
}

// Inject makes requests fail.
func (f *FailRequest) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return f.inject(ctx, w, f.harm(), nil)
}
