package ownership

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// releasePause is between two questions of Release and AwaitEnd.
const releasePause = 250 * time.Millisecond

// Release has the guard of a valid owner end its epoch, the last step of a planned migration (O11): clients are
// stopped, every holder has given up, the final snapshot is in the bucket. It tries until ctx is done, and may be
// repeated. After it the destination may begin its take-over; to abort means a take-over by the source, with a new
// epoch.
func Release(ctx context.Context, guard string, epoch int64, clock Clock, client *http.Client) error {
	if err := untilFinished(ctx, http.MethodPost, guard, PathFence, epoch, clock, client); err != nil {
		return fmt.Errorf("release epoch %d, %w", epoch, err)
	}
	return nil
}

// AwaitEnd waits until the guard of an epoch that another owner has ended has carried its fence through (O3): what no backup
// had yet is in the bucket then. It decides nothing, and tries until ctx is done.
func AwaitEnd(ctx context.Context, guard string, epoch int64, clock Clock, client *http.Client) error {
	if err := untilFinished(ctx, http.MethodGet, guard, PathRevocation, epoch, clock, client); err != nil {
		return fmt.Errorf("wait for the end of epoch %d, %w", epoch, err)
	}
	return nil
}

// untilFinished asks the guard until its fence is finished. The error says what the guard has said last.
func untilFinished(ctx context.Context, method, guard, path string, epoch int64, clock Clock, client *http.Client) error {
	base, err := url.Parse(guard)
	if err != nil {
		return fmt.Errorf("parse the guard's address: %w", err)
	}
	address := base.JoinPath(path)
	address.RawQuery = url.Values{"epoch": {strconv.FormatInt(epoch, 10)}}.Encode()
	for {
		var answer FenceAnswer
		_, err := call(ctx, client, method, address.String(), &answer)
		if err == nil && answer.Finished && answer.Epoch == epoch {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("of which the guard says %+v: %w", answer, context.Cause(ctx)), err)
		case <-clock.After(releasePause):
		}
	}
}
