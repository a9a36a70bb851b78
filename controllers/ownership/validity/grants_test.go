package validity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// one is a holder of an identity of its own.
func one(instance string) validity.HolderName {
	return validity.HolderName{Identity: "test", Instance: instance}
}

// A client with one valid certificate names itself anew with every question. It makes the guard keep nothing more, and
// what it is granted holds up a fence no longer than one silent holder does. Other identities are not concerned.
func TestGrant_ManyInstancesOfOneIdentity_AreBounded(t *testing.T) {
	t.Parallel()
	b := settled(t)
	grant := func(holder validity.HolderName) {
		t.Helper()
		if _, err := b.guard.Grant(holder); err != nil {
			t.Fatal(err)
		}
	}
	gateway := validity.HolderName{Identity: "gateway", Instance: "1"}
	grant(gateway)
	for n := range 10_000 {
		grant(one(fmt.Sprint(n)))
	}
	later := validity.HolderName{Identity: "extensions", Instance: "1"}
	grant(later)
	pending := b.guard.RevocationPending()
	if got := slices.DeleteFunc(slices.Clone(pending), func(name string) bool {
		return !strings.HasPrefix(name, "test")
	}); len(got) != 33 {
		t.Errorf("%d holders of the identity are kept, want 32 and one for all others", len(got))
	}
	b.reads(ownership.Decision, at(4), 0)
	for n := range 10_000 {
		b.guard.Confirm(one(fmt.Sprint(n)))
	}
	b.guard.Confirm(gateway)
	b.guard.Confirm(later)
	if diff := cmp.Diff([]string{"test"}, b.guard.RevocationPending()); diff != "" {
		t.Errorf("a fence waits for (-want +got):\n%s", diff)
	}
	if got := b.guard.RevocationRemaining(); got != 5500*time.Millisecond {
		t.Errorf("wait is %v, want that of one silent holder", got)
	}
	b.clock.Step(5500 * time.Millisecond)
	if got := b.guard.RevocationPending(); len(got) > 0 {
		t.Errorf("a fence still waits for %q", got)
	}
}

// Names of processes that have ended make room for those that come after them.
func TestGrant_HoldersLapsed_MakeRoom(t *testing.T) {
	t.Parallel()
	b := settled(t)
	for n := range 40 {
		if _, err := b.guard.Grant(one(fmt.Sprint("old", n))); err != nil {
			t.Fatal(err)
		}
	}
	b.clock.Step(4 * time.Second)
	b.reads(ownership.Decision, self, 0)
	b.clock.Step(1900 * time.Millisecond) // the old grants have lapsed, with their drift
	if _, err := b.guard.Grant(one("new")); err != nil {
		t.Fatal(err)
	}
	b.reads(ownership.Decision, at(4), 0)
	b.guard.Confirm(one("new"))
	if got := b.guard.RevocationPending(); len(got) > 0 {
		t.Errorf("a fence waits for %q, although the only holder has confirmed", got)
	}
}

// Who holds under one identity cannot speak for another, whatever it says of its instance.
func TestConfirm_SameInstanceOfAnotherIdentity_IsNotConfirmed(t *testing.T) {
	t.Parallel()
	b := settled(t)
	gateway := validity.HolderName{Identity: "gateway", Instance: "1"}
	if _, err := b.guard.Grant(gateway); err != nil {
		t.Fatal(err)
	}
	foreign := []validity.HolderName{
		{Identity: "extensions", Instance: "1"}, {Identity: "extensions", Instance: "gateway/1"}, {Instance: "gateway/1"},
		{Identity: "gateway"}, {Identity: "gateway/1"}, {},
	}
	for _, name := range foreign {
		b.guard.Left(name)
	}
	b.reads(ownership.Decision, at(4), 0)
	for _, name := range foreign {
		b.guard.Confirm(name)
	}
	if diff := cmp.Diff([]string{"gateway/1"}, b.guard.RevocationPending()); diff != "" {
		t.Errorf("a fence waits for (-want +got):\n%s", diff)
	}
}
