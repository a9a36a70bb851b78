package embedded

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/checkpoint"
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

// Of a landscape that will be kept the addresses are such that others, which take the first ones, are not in its way.
func TestTakeSlot_ToKeep_IsAfterThoseOfOthers(t *testing.T) {
	t.Parallel()
	var slots []address.Slot
	for _, toKeep := range []bool{true, false} {
		claim, err := (&Options{ToKeep: toKeep, Progress: func(Progress) {}}).takeSlot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = claim.Release() }) // the kernel does it, too
		slots = append(slots, claim.Slot)
	}
	if kept, other := slots[0], slots[1]; kept <= other {
		t.Errorf("slot %d is kept, and another landscape has %d", kept, other)
	}
}

// A checkpoint has no other addresses to be started at.
func TestTakeSlot_AnotherHasIt_SaysWhatToDo(t *testing.T) {
	t.Parallel()
	nowhere := func(address.Slot) ([]address.Endpoint, error) { return nil, nil }
	claim, err := address.Take(t.Context(), address.LastOnes, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = claim.Release() }) // the kernel does it, too
	slot := claim.Slot
	for want, from := range map[string]*checkpoint.Checkpoint{
		"end it, choose another one with --slot":                                 nil,
		"end it: a checkpoint is started at the addresses that it was made with": {},
	} {
		o := &Options{Slot: &slot, From: from}
		if _, err := o.takeSlot(t.Context()); !errors.Is(err, address.ErrSlotTaken) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrSlotTaken and %q", err, want)
		}
	}
}
