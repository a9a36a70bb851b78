package cloud

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is a harm set by an admin. It hits the calls that match until it is healed. Faults survive a restart of the
// cloud; their counts start anew then.
type Fault struct {
	Meta        // the id is the fault's name, chosen by the caller
	Match Match `json:"match"`
	// the only matching call that it hits, counted from 1; instead of from and times
	Nth    int    `json:"nth,omitempty"`
	From   int    `json:"from,omitempty"`  // the first matching call that it hits, counted from 1; default 1
	Times  int    `json:"times,omitempty"` // how many calls it hits; 0 means all until it is healed
	Effect Effect `json:"effect"`
	// Group of faults that count together: a call that several of them match is one, and times bounds how many are hit.
	Group string `json:"group,omitempty"`

	Matched int `json:"matched,omitempty"` // calls that matched so far, it or another of its group
	Hits    int `json:"hits,omitempty"`    // calls that it hit so far
}

// Match chooses calls; every list that is not empty must contain the call's value.
type Match struct {
	Kinds      []string `json:"kinds,omitempty"`
	Verbs      []string `json:"verbs,omitempty"`
	Identities []string `json:"identities,omitempty"`
	Shoots     []string `json:"shoots,omitempty"`
	IDPrefix   string   `json:"idPrefix,omitempty"` // of an object "<bucket>/<key>", of a record "<zone id>/<type>/<name>"
}

// Effect is what a fault does to a call: exactly one field is set.
type Effect struct {
	Error    *ErrorEffect     `json:"error,omitempty"`    // refused, without effect
	Delay    *metav1.Duration `json:"delay,omitempty"`    // waits before it is looked at
	Throttle *ThrottleEffect  `json:"throttle,omitempty"` // refused with RateLimited above a rate
	// creations refused with QuotaExceeded from so many objects of the kind on
	Quota          *int  `json:"quota,omitempty"`
	Drop           Drop  `json:"drop,omitempty"`           // the connection breaks
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"` // bodies flow no faster, each by itself
	// objects are answered with content that does not match
	Damage  bool `json:"damage,omitempty"`
	Missing bool `json:"missing,omitempty"` // objects are answered as if they were not there
}

// ErrorEffect is the answer a call gets; Reason and Message have a default for every code.
type ErrorEffect struct {
	Code    Code   `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ThrottleEffect is a rate of calls.
type ThrottleEffect struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"`
}

// Drop says which half of a call is lost.
type Drop string

// A dropped request never arrives and is not recorded; a dropped answer belongs to a call that took its effect.
const (
	DropRequest Drop = "request"
	DropAnswer  Drop = "answer"
)

// SetFault injects the fault under its id, or replaces the one there. Only an admin may.
func (c *Client) SetFault(ctx context.Context, fault Fault) (*Fault, error) {
	return call[Fault](ctx, c, request{method: http.MethodPut, path: []string{KindFaults, fault.ID}, body: fault})
}

// Faults lists the faults that are set, with their counts.
func (c *Client) Faults(ctx context.Context) ([]Fault, error) {
	return listOf[Fault](ctx, c, request{method: http.MethodGet, path: []string{KindFaults}})
}

// HealFault ends the fault and returns it with its final counts; NotFound when it is not set.
func (c *Client) HealFault(ctx context.Context, name string) (*Fault, error) {
	return call[Fault](ctx, c, request{method: http.MethodDelete, path: []string{KindFaults, name}})
}
