package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/sim/world"
)

// answerWithin is long for a network within one machine.
const answerWithin = 2 * time.Second

// DialFromPod implements world.Breaker, as root of the machine that the pod runs on.
func (o *Observer) DialFromPod(ctx context.Context, cluster string, pod types.UID,
	address string) (time.Duration, error) {
	running, err := o.Containers(ctx, cluster, func(c process.Program) bool { uid, _ := PodOf(c); return uid == pod })
	if err != nil {
		return 0, fmt.Errorf("find the network of pod %s of cluster %q: %w", pod, cluster, err)
	}
	if len(running) == 0 {
		return 0, fmt.Errorf("find the network of pod %s of cluster %q: nothing of it runs", pod, cluster)
	}
	took, err := dialFrom(ctx, running[0].PID, address)
	if err != nil {
		return 0, fmt.Errorf("connect to %s from the network of pod %s of cluster %q: %w", address, pod, cluster, err)
	}
	return took, nil
}

// dialFrom connects from the network of a process that has one of its own. The thread that does it ends with it, as it
// would stay there.
func dialFrom(ctx context.Context, pid int, address string) (took time.Duration, err error) {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return 0, err
	}
	defer network.Close()
	if own, err := sameNetwork(network); err != nil || own {
		return 0, errors.Join(err, errors.New("it has no network of its own"))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		if err = unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err == nil {
			took, err = knock(ctx, address)
		}
	}()
	<-done
	return took, err
}

func sameNetwork(network *os.File) (bool, error) {
	theirs, err := network.Stat()
	if err != nil {
		return false, err
	}
	ours, err := os.Stat("/proc/self/ns/net")
	return err == nil && os.SameFile(theirs, ours), err
}

// knock takes the time until an address answers.
func knock(ctx context.Context, address string) (time.Duration, error) {
	began := time.Now()
	connection, err := (&net.Dialer{Timeout: answerWithin}).DialContext(ctx, "tcp", address)
	took := time.Since(began)
	if err == nil {
		return took, connection.Close()
	}
	timeout := net.Error(nil)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return took, nil
	case ctx.Err() == nil && errors.As(err, &timeout) && timeout.Timeout():
		return 0, fmt.Errorf("%w: %w", world.ErrNoAnswer, err)
	}
	return 0, err
}
