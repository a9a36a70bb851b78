package bootdata

import "testing"

// A machine that is ordered again after an error is ordered with the same user data: the cloud compares them.
func TestWithNodeFile_Again_IsTheSame(t *testing.T) {
	t.Parallel()
	packed, node := []byte("#!/bin/sh\n"), `{"kind":"Node"}`
	first, err := withNodeFile(packed, node)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := withNodeFile(packed, node); err != nil || again != first {
		t.Errorf("at first %q, then %q, %v", first, again, err)
	}
	if other, err := withNodeFile(packed, node+" "); err != nil || other == first {
		t.Errorf("another node file has the same user data %q, %v", other, err)
	}
}
