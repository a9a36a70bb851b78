package requests

import (
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// SizeLimit refuses requests whose body is larger, as an API server does whose own limit is lower. A stock API server
// takes [StockRequestLimit].
type SizeLimit struct {
	Match kubeapi.Match `json:"match,omitzero"`
	// Bytes that a body may have.
	Bytes int64 `json:"bytes"`
}

// StockRequestLimit is the largest body that a stock API server reads.
const StockRequestLimit = 3 << 20

var _ Fault = SizeLimit{}

// Name is "SizeLimit(bytes,requests)".
func (s SizeLimit) Name() string { return fmt.Sprintf("SizeLimit(%d,%s)", s.Bytes, s.Match) }

// Validate wants a limit that a stock API server does not have already.
func (s SizeLimit) Validate() error {
	if s.Bytes < 1 || s.Bytes > StockRequestLimit {
		return fmt.Errorf("limit of %d bytes: must be from 1 to %d, which is where a stock API server has it", s.Bytes,
			StockRequestLimit)
	}
	return valid(s.Match, Turn{})
}

// Start begins the fault on one link.
func (s SizeLimit) Start() Effect {
	return Effect{Match: s.Match, Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
		status := apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", s.Bytes)).ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		if !s.exceeded(x) || !a.deny(x, &status) {
			next(x)
		}
	}}
}

// exceeded reads no more than the limit, and puts it back.
func (s SizeLimit) exceeded(x *Exchange) bool {
	if x.R.Body == nil || x.R.ContentLength >= 0 {
		return x.R.ContentLength > s.Bytes
	}
	read, err := io.ReadAll(io.LimitReader(x.R.Body, s.Bytes+1))
	x.R.Body = kubeapi.PutBack(read, x.R.Body)
	return err == nil && int64(len(read)) > s.Bytes
}

// MarshalJSON writes the fault with its type.
func (s SizeLimit) MarshalJSON() ([]byte, error) {
	type plain SizeLimit
	return faultjson.Marshal("SizeLimit", plain(s))
}
