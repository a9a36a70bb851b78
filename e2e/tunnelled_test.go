package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
)

const (
	// callTimeout bounds one call that is measured, and eachCall is when the next one begins, whatever became of it.
	callTimeout, eachCall = 5 * time.Second, 250 * time.Millisecond
)

// processOf a podserver, by exec.
func (u *podsUser) processOf(ctx context.Context, pod string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request := u.shoot.CoreV1().RESTClient().Get().Resource("pods").Namespace("default").Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"cat", "/tmp/process"}, Stdout: true, Stderr: true},
			clientgoscheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(u.config, http.MethodGet, request.URL().String())
	if err != nil {
		return "", err
	}
	var said, wrong strings.Builder
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &said, Stderr: &wrong}); err != nil {
		return "", fmt.Errorf("%w: %s", err, wrong.String())
	}
	return said.String(), nil
}

// pageOf a podserver, by a port that is forwarded.
func (u *podsUser) pageOf(ctx context.Context, pod string) (page string, err error) {
	request := u.shoot.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource(
		"portforward")
	transport, upgrader, err := spdy.RoundTripperFor(u.config)
	if err != nil {
		return "", err
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, request.URL())
	stop, up, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:8080"}, stop, up, io.Discard,
		io.Discard)
	if err != nil {
		return "", err
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-up:
	case err := <-ended:
		return "", fmt.Errorf("forward the port: %w", err)
	}
	defer func() { close(stop); <-ended }()
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", err
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local), nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Do(get)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return string(content), err
}

// calls are what became of calls of one kind.
type calls struct {
	failed  int
	last    time.Time     // success, or the begin
	longest time.Duration // without a success
}

// measure calls the API server and executes in a pod, again and again, until it is stopped and both succeed. Each call
// begins in time, though others before it hang.
func (u *podsUser) measure(t *testing.T, pod string) (stop func() (api, exec calls)) {
	t.Helper()
	var mutex sync.Mutex
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	repeat := func(call func(context.Context) error) *calls {
		seen := &calls{last: time.Now()}
		one := func() {
			within, cancel := context.WithTimeout(ctx, callTimeout)
			err := call(within)
			cancel()
			mutex.Lock()
			defer mutex.Unlock()
			switch now := time.Now(); {
			case err == nil:
				seen.longest, seen.last = max(seen.longest, now.Sub(seen.last)), now
			case ctx.Err() == nil:
				seen.failed++
			}
		}
		group.Go(func() {
			next := time.NewTicker(eachCall)
			defer next.Stop()
			for ctx.Err() == nil {
				group.Go(one)
				select {
				case <-next.C:
				case <-ctx.Done():
				}
			}
		})
		return seen
	}
	api := repeat(func(ctx context.Context) error { return ask(ctx, u.config) })
	exec := repeat(func(ctx context.Context) error {
		_, err := u.processOf(ctx, pod)
		return err
	})
	return func() (calls, calls) {
		stopped := time.Now()
		u.eventually(t, "both kinds of calls succeed", func(context.Context) error {
			mutex.Lock()
			defer mutex.Unlock()
			if api.last.Before(stopped) || exec.last.Before(stopped) {
				return fmt.Errorf("of the API server: %+v, of exec: %+v", *api, *exec)
			}
			return nil
		})
		cancel()
		group.Wait()
		return *api, *exec
	}
}
