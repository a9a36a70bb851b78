package etcd

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
)

// A restore is tried again when a repetition can help: a pod that waits for what never comes says nothing.
func TestARestoreIsTriedAgainWhereThatCanHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("the bucket is away"), false},
		{context.DeadlineExceeded, false},
		{&backup.DamageError{Key: "e1/full-…", Err: backup.ErrDigest}, true},
		{&backup.SupersededError{Epoch: 1, By: 2}, true},
		{&backup.EndedError{Epoch: 1}, true},
	} {
		if got := permanent(fmt.Errorf("restore: %w", c.err)); got != c.want {
			t.Errorf("%v is permanent: %t, want %t", c.err, got, c.want)
		}
	}
}
