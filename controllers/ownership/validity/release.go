package validity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// ErrSilent is in the error of Release and AwaitEnd if the guard was not heard even once: nobody listens, nothing
// answers in time, or every connection breaks. A guard that refuses, or that has not finished yet, is not silent.
var ErrSilent = errors.New("the guard is silent")

// releasePause is between two questions of Release and AwaitEnd.
const releasePause = 250 * time.Millisecond

// Release has the guard of a valid owner end its epoch, the last step of a planned migration (docs/ownership.md#o11):
// clients are stopped, every holder has given up, the final snapshot is in the bucket. It tries until ctx is done, and
// may be repeated. After it the destination may begin its take-over; to abort means a take-over by the source, with a
// new epoch.
func Release(ctx context.Context, guard string, epoch int64, clock ownership.Clock, client *http.Client) error {
	if err := untilFinished(ctx, http.MethodPost, guard, PathFence, epoch, clock, client); err != nil {
		return fmt.Errorf("release epoch %d, %w", epoch, err)
	}
	return nil
}

// AwaitEnd waits until the guard of an epoch that another owner has ended has carried its fence through
// (docs/ownership.md#o3): what no backup had yet is in the bucket then. It decides nothing, and tries until ctx is
// done.
func AwaitEnd(ctx context.Context, guard string, epoch int64, clock ownership.Clock, client *http.Client) error {
	if err := untilFinished(ctx, http.MethodGet, guard, PathRevocation, epoch, clock, client); err != nil {
		return fmt.Errorf("wait for the end of epoch %d, %w", epoch, err)
	}
	return nil
}

// untilFinished asks the guard until its fence is finished. The error says what the guard has said last, and
// ErrSilent if it has never said anything.
func untilFinished(ctx context.Context, method, guard, path string, epoch int64, clock ownership.Clock,
	client *http.Client) error {
	base, err := url.Parse(guard)
	if err != nil {
		return fmt.Errorf("parse the guard's address: %w", err)
	}
	address := base.JoinPath(path)
	address.RawQuery = url.Values{"epoch": {strconv.FormatInt(epoch, 10)}}.Encode()
	silence, last := ErrSilent, FenceAnswer{}
	for {
		var answer FenceAnswer
		_, err := call(ctx, client, method, address.String(), &answer)
		if err == nil && answer.Finished && answer.Epoch == epoch {
			return nil
		}
		if err == nil && answer.Epoch != 0 {
			last = answer
		}
		if !isSilence(err) {
			silence = nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("of which the guard says %s: %w", last, context.Cause(ctx)), err, silence)
		case <-clock.After(releasePause):
		}
	}
}

// isSilence reports whether nothing has come back. Alerts of TLS are answers, although they are errors of the
// connection, too.
func isSilence(err error) bool {
	if op, is := errors.AsType[*net.OpError](err); is {
		return op.Op != "remote error" && op.Op != "local error"
	}
	late, is := errors.AsType[net.Error](err)
	return is && late.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
