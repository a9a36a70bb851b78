package program

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/ready"
)

// readyPoll is short: every cluster start waits for it.
const readyPoll = 25 * time.Millisecond

// readyTimeout bounds one question, TLS handshake included, on a machine with all cores busy.
const readyTimeout = 5 * time.Second

// AwaitServing waits until the API server serves those who need no role of Kubernetes' own, as members of
// system:masters do not. It is ready a second later: only then does it begin to make those roles.
func AwaitServing(ctx context.Context, config *rest.Config, needed ...*process.Process) error {
	return await(ctx, config, "/readyz?exclude=poststarthook/rbac/bootstrap-roles", needed)
}

// AwaitReady waits until the API server's /readyz says ok. It gives up when ctx is done, and at once when one of the
// processes it depends on has ended. The error has what /readyz said last.
func AwaitReady(ctx context.Context, config *rest.Config, needed ...*process.Process) error {
	return await(ctx, config, "/readyz", needed)
}

func await(ctx context.Context, config *rest.Config, path string, needed []*process.Process) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("make the client for %s: %w", config.Host, err)
	}
	defer client.CloseIdleConnections()
	client.Timeout = readyTimeout
	err = ready.Await(ctx, readyPoll, 0, func(ctx context.Context) error {
		err := ready.Endpoint(ctx, client, config.Host+path)
		for _, p := range needed {
			if err != nil && !p.Running() {
				return ready.Never(p.Ended())
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the API server at %s: %w", config.Host, err)
	}
	return nil
}
