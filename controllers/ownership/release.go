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

// releasePause is between two tries of Release.
const releasePause = 250 * time.Millisecond

// Release has the guard of a valid owner end its epoch, the last step of a planned migration (O11): clients are
// stopped, every holder has given up, the final snapshot is in the bucket. It tries until ctx is done, and may be
// repeated. After it the destination may begin its take-over; to abort means a take-over by the source, with a new
// epoch.
func Release(ctx context.Context, guard string, epoch int64, clock Clock, client *http.Client) error {
	base, err := url.Parse(guard)
	if err != nil {
		return fmt.Errorf("parse the guard's address: %w", err)
	}
	address := base.JoinPath(PathFence)
	address.RawQuery = url.Values{"epoch": {strconv.FormatInt(epoch, 10)}}.Encode()
	for {
		var answer FenceAnswer
		_, err := call(ctx, client, http.MethodPost, address.String(), &answer)
		if err == nil && answer.Finished && answer.Epoch == epoch {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("release epoch %d, of which the guard says %+v: %w", epoch, answer, context.Cause(ctx)), err)
		case <-clock.After(releasePause):
		}
	}
}
