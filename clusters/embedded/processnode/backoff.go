package processnode

import "time"

// backoff is a delay that doubles. The first attempt after the first failure is not delayed, as a kubelet does it.
type backoff struct {
	base, max time.Duration
	delay     time.Duration
	failed    bool
}

// next returns how long to wait after one more failure.
func (b *backoff) next() time.Duration {
	if !b.failed {
		b.failed = true
		return 0
	}
	b.delay = min(max(2*b.delay, b.base), b.max)
	return b.delay
}

func (b *backoff) reset() { b.delay, b.failed = 0, false }
