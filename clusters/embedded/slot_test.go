package embedded

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
)

// When a later slot is taken, the news says why, each reason on the same line.
func TestTakeSlot_EarlierOneIsPassedOver_SaysWhy(t *testing.T) {
	t.Parallel()
	claim := &address.Claim{Slot: 3, Passed: errors.Join(errors.New("one is taken"), errors.New("two is taken"))}
	want := Progress{
		Subject: "addresses",
		What:    "slot 3 is taken, for in an earlier one one is taken; two is taken",
	}
	if diff := cmp.Diff(want, passedOver(claim)); diff != "" {
		t.Error(diff)
	}
}
