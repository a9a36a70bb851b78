package scope

import (
	"sync"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Confirmed is the shoot of a run as the garden had it when it last answered that the run may act on it, by a read or
// by a write with a lock. It is what the next write with a lock begins with: if anybody has written the shoot since,
// that write ends with a conflict. It may also say that there is nothing to write. Nothing else may be decided by it.
// The zero value has no answer yet.
type Confirmed struct {
	mu    sync.Mutex
	shoot *gardencorev1beta1.Shoot
	asked time.Time
	lost  func(error)
}

// Note takes down an answer to what was asked at a moment. An answer that was asked for earlier than the one that is
// noted is left out.
func (c *Confirmed) Note(shoot *gardencorev1beta1.Shoot, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !asked.Before(c.asked) {
		c.shoot, c.asked = shoot.DeepCopy(), asked
	}
}

// OnLoss sets what is called when the garden answers that the run may not act on the shoot any more.
func (c *Confirmed) OnLoss(lost func(why error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = lost
}

// Lose takes down such an answer.
func (c *Confirmed) Lose(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shoot = nil
	if c.lost != nil {
		c.lost(why)
	}
}

// Forget removes the shoot: somebody else has written it, or the garden does not answer. The moment stays.
func (c *Confirmed) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shoot = nil
}

// Shoot is a copy of the shoot; nil if the garden has to be asked.
func (c *Confirmed) Shoot() *gardencorev1beta1.Shoot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shoot.DeepCopy()
}

// Asked is when the garden was asked for the newest answer.
func (c *Confirmed) Asked() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}
