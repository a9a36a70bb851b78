// Package backoff has the delay before something that has failed is tried again, as a kubelet delays it. It waits for
// nothing by itself, and adds no jitter.
package backoff

import "time"

// Delay doubles with each failure, from Base up to Max. The first attempt after the first failure is not delayed. The
// zero value with Base and Max set is ready for use; it is for one goroutine at a time.
type Delay struct {
	Base, Max time.Duration
	// Failed says whether something has failed since the last Reset. One that begins with it delays the first attempt,
	// too.
	Failed bool

	last time.Duration
}

// Next returns how long to wait after one more failure.
func (d *Delay) Next() time.Duration {
	if !d.Failed {
		d.Failed = true
		return 0
	}
	d.last = min(max(2*d.last, d.Base), d.Max)
	return d.last
}

// Last is the delay that Next returned last.
func (d *Delay) Last() time.Duration { return d.last }

// Reset makes the next failure the first one.
func (d *Delay) Reset() { d.last, d.Failed = 0, false }
