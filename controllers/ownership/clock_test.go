package ownership_test

import (
	"testing"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

func TestBootClockRuns(t *testing.T) {
	t.Parallel()
	clock, err := ownership.NewBootClock()
	if err != nil {
		t.Fatal(err)
	}
	before := clock.Now()
	<-clock.After(time.Millisecond)
	if clock.Now().Sub(before) < time.Millisecond || clock.BootID() == "" {
		t.Errorf("clock moved by %v, boot id %q", clock.Now().Sub(before), clock.BootID())
	}
}
