package admission

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	pathReady = "/readyz"

	// servingPoll is how often to see whether the server serves.
	servingPoll = 20 * time.Millisecond
	// announceRetry is between two attempts to register, announceAgain between two looks whether it still holds.
	announceRetry, announceAgain = time.Second, 30 * time.Second
)

// announcement registers the server with the garden once it serves, and keeps it registered. It answers whether it is.
type announcement struct {
	serving func(*http.Request) error
	apply   func(context.Context) error
	clock   clock.Clock
	ready   atomic.Bool
}

var (
	_ manager.LeaderElectionRunnable = &announcement{}
	_ http.Handler                   = &announcement{}
)

// NeedLeaderElection is false: the server does not wait to become leader.
func (*announcement) NeedLeaderElection() bool { return false }

// Start registers until ctx is done. It never gives up: until it has succeeded, the garden calls the process before
// this one, and refuses what needs an answer.
func (a *announcement) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("admission")
	for {
		pause := announceAgain
		if a.serving(nil) != nil {
			pause = servingPoll
		} else if err := a.announce(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "The webhook server could not be registered, it is tried again")
			pause = announceRetry
		}
		timer := a.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

func (a *announcement) announce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, announceAgain)
	defer cancel()
	if err := a.apply(ctx); err != nil {
		return err
	}
	a.ready.Store(true)
	return nil
}

// ServeHTTP answers 200 once this server is registered in the garden.
func (a *announcement) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !a.ready.Load() {
		http.Error(w, "this webhook server is not registered in the garden yet", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}
