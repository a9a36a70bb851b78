package processnode

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/version"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/nodestatus"
	"github.com/transplant-sim/transplant/clusters/ready"
)

// startPoll is how often the node tries again while it has no API server.
const startPoll = 100 * time.Millisecond

// Run is the process node: it registers the node and runs its pods until ctx is done. All containers end with the
// calling process, whichever way it ends.
func Run(ctx context.Context, config Config, log logr.Logger) error {
	a, err := newAgent(ctx, config, log)
	if err != nil {
		return err
	}
	if err := a.wire(); err != nil {
		return err
	}
	if err := a.server.Listen(); err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	group.Go(func() { failed <- a.server.Serve(ctx) })
	if err := a.start(ctx, &group); err != nil {
		return err
	}
	log.Info("Process node is ready", "node", config.Name, "address", config.Address.String())
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// start starts everything in the order in which one part needs the other. It waits for the API server without a bound:
// that of a seed that is a shoot may be away for long, and what runs it may wait for other nodes.
func (a *agent) start(ctx context.Context, group *sync.WaitGroup) error {
	a.recording.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: a.Client.CoreV1().Events("")})
	group.Go(func() { <-ctx.Done(); a.recording.Shutdown() })
	version, err := a.awaitAPIServer(ctx)
	if err != nil {
		return err
	}
	if err := a.untilDone(ctx, a.folders.CreateClass); err != nil {
		return err
	}
	a.factory.Start(ctx.Done())
	a.metadata.Start(ctx.Done())
	if err := a.awaitCaches(ctx); err != nil {
		return err
	}
	// Pods come last: their containers' variables show the services.
	registration, err := a.pods.Watch(a.bound.Core().V1().Pods().Informer())
	if err != nil {
		return err
	}
	a.bound.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("list the pods of the node: %w", context.Cause(ctx))
	}
	if err := a.pods.Sweep(); err != nil {
		return err
	}
	if a.forwarder != nil {
		group.Go(func() { a.forwarder.Run(ctx) })
	}
	group.Go(func() { a.folders.Run(ctx) })
	shown := &nodestatus.Node{
		Client: a.Client, Clock: a.Clock, Log: a.Log, Name: a.config.Name, Address: a.config.Address, Port: a.config.Port,
		Capacity: a.Capacity, Version: version, Others: a.config.Machine != "",
	}
	if err := a.untilDone(ctx, shown.Register); err != nil {
		return err
	}
	group.Go(func() { shown.KeepLease(ctx) })
	group.Go(func() { shown.KeepStatus(ctx) })
	return nil
}

// untilDone asks the API server until it has done what it is asked for. It may be gone again since it answered first.
func (a *agent) untilDone(ctx context.Context, ask func(context.Context) error) error {
	var logged time.Time
	return ready.Await(ctx, startPoll, 0, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		err := ask(ctx)
		if err != nil && a.Clock.Since(logged) > askTimeout {
			logged = a.Clock.Now()
			a.Log.Info("The node waits for its API server", "reason", err.Error())
		}
		return err
	})
}

// askTimeout bounds one question to the API server.
const askTimeout = 10 * time.Second

// awaitAPIServer waits until the API server answers, and returns its version.
func (a *agent) awaitAPIServer(ctx context.Context) (found string, err error) {
	err = a.untilDone(ctx, func(ctx context.Context) error {
		content, err := a.Client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
		if err != nil {
			return err
		}
		var info version.Info
		if err := json.Unmarshal(content, &info); err != nil {
			return ready.Never(fmt.Errorf("parse the API server's version: %w", err))
		}
		found = info.GitVersion
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("wait for the API server: %w", err)
	}
	return found, nil
}

func (a *agent) awaitCaches(ctx context.Context) error {
	for informer, synced := range a.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("list each %v: %w", informer, context.Cause(ctx))
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), a.synced...) {
		return fmt.Errorf("list what pods refer to: %w", context.Cause(ctx))
	}
	return nil
}
