package validity

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Paths of a guard's API. Who may ask where is in package etcd/access. A holder is an identity, by the certificate of
// the caller, and ?instance=<name>, which of its processes it is.
const (
	// PathValidity answers GET with an Answer. With an instance the holder can confirm a revocation later.
	PathValidity = "/validity"
	// PathState answers GET with an Answer that is granted to nobody: a fence does not wait for who asks here, and
	// so nobody may pass anything on the strength of it.
	PathState = "/state"
	// PathRevocation answers GET with a FenceAnswer as soon as the guard is fenced (200), or with
	// nothing after a while (204). Who waits for the end of an epoch that another owner has ended asks here, too.
	PathRevocation = "/revocation"
	// PathRevoked takes POST: the holder has given up its validity.
	PathRevoked = "/revoked"
	// PathLeft takes POST: the holder has ended, and its name will not be used again.
	PathLeft = "/left"
	// PathFence takes POST ?epoch=<n>: the owner ends its epoch by its own decision (docs/ownership.md#o11). It answers
	// with a FenceAnswer when the final snapshot is in the bucket.
	PathFence = "/fence"
)

// Grant is a guard's answer to a holder.
type Grant struct {
	Owner string
	Epoch int64
	// Remaining is to be added to the holder's clock as it was before the question was sent.
	Remaining time.Duration
	// BootID is that of the guard's clock.
	BootID string
}

// Answer is the body of PathValidity. With remaining "0s" nothing may be passed.
type Answer struct {
	State     State           `json:"state"`
	Owner     string          `json:"owner"`
	Epoch     int64           `json:"epoch"`
	Remaining metav1.Duration `json:"remaining"`
	BootID    string          `json:"bootID"`
}

// FenceAnswer is the body of PathFence and PathRevocation.
type FenceAnswer struct {
	Epoch int64 `json:"epoch"`
	// Fenced and Finished say how far the end of the epoch has come; when finished, the final snapshot, if one was
	// due, is in the bucket.
	Fenced   bool   `json:"fenced"`
	Finished bool   `json:"finished"`
	Message  string `json:"message,omitempty"`
}

// String says it to people.
func (a FenceAnswer) String() string {
	if a.Epoch == 0 {
		return "nothing"
	}
	return fmt.Sprintf("in epoch %d: %s", a.Epoch, a.Message)
}
