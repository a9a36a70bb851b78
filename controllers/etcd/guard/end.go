package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const (
	// endPause is between two tries of a step of the fence.
	endPause = 500 * time.Millisecond
	// askPatience bounds one question for the final snapshot. It may be shorter than the snapshot takes: the sidecar goes
	// on with it, and who asks again waits for the same one.
	askPatience = 20 * time.Second
)

// End carries a fence through (docs/ownership.md#o3): it is recorded, every holder has confirmed or surely lapsed, and
// the final snapshot is taken if this epoch has served. It goes on where an earlier process has stopped.
type End struct {
	Guard *validity.Guard
	Clock ownership.Clock
	// Backup is the base URL of the backup sidecar.
	Backup string
	Client *http.Client
	Log    logr.Logger
}

// Run waits for a fence and carries it through, until ctx is done.
func (e *End) Run(ctx context.Context) {
	if !e.until(ctx, func() (bool, time.Duration) { return e.Guard.State() == validity.Fenced, time.Hour }) {
		return
	}
	memory := e.Guard.Memory()
	e.Log.Info("Guard is fenced, nothing passes any more", "epoch", memory.Epoch, "by", memory.Fence.By.String(), "served",
		memory.Served)
	if !e.try(ctx, "record the fence", e.Guard.Record) {
		return
	}
	e.Log.Info("Holders have to give up", "holders", e.Guard.RevocationPending(), "atMost",
		e.Guard.RevocationRemaining().String())
	begin := e.Clock.Now()
	if !e.until(ctx, func() (bool, time.Duration) {
		left := e.Guard.RevocationRemaining()
		return left <= 0, left
	}) {
		return
	}
	e.Log.Info("No holder is valid any more", "took", e.Clock.Now().Sub(begin).String())
	if !e.try(ctx, "record the revocation", e.Guard.Revoked) {
		return
	}
	if memory = e.Guard.Memory(); memory.Served && !memory.Fence.Finished {
		// Without bound, whoever has ended the epoch: the destination of a planned migration does not begin before, and
		// another owner, who does not wait, may never begin. What comes after its manifest belongs to no chain
		// (docs/ownership.md#o7).
		e.try(ctx, "take the final snapshot", func() error { return e.final(ctx) })
		e.Log.Info("Final snapshot is over", "tookSinceFence", e.Clock.Now().Sub(begin).String())
	}
	if ctx.Err() == nil {
		e.try(ctx, "record the end", e.Guard.Finished)
	}
}

// final has the sidecar take the final snapshot.
func (e *End) final(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	address, err := url.Parse(e.Backup)
	if err != nil {
		return fmt.Errorf("parse the sidecar's address: %w", err)
	}
	address = address.JoinPath("/snapshot/full")
	address.RawQuery = url.Values{"final": {"true"}, "epoch": {strconv.FormatInt(e.Guard.Self().Epoch, 10)}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), nil)
	if err != nil {
		return err
	}
	response, err := e.Client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil || response.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("ask the sidecar for the final snapshot: %s: %s", response.Status, body), err)
	}
	return nil
}

// try repeats a step until it succeeds; false if ctx is done before.
func (e *End) try(ctx context.Context, what string, step func() error) bool {
	for ctx.Err() == nil {
		err := step()
		if err == nil {
			return true
		}
		e.Log.Error(err, "A step of the fence is tried again", "step", what)
		select {
		case <-ctx.Done():
		case <-e.Clock.After(endPause):
		}
	}
	return false
}

// until waits for a condition that changes with the guard or with time; false if ctx is done before.
func (e *End) until(ctx context.Context, condition func() (met bool, left time.Duration)) bool {
	for {
		changed := e.Guard.Changed()
		met, left := condition()
		if met {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		case <-e.Clock.After(left):
		}
	}
}
