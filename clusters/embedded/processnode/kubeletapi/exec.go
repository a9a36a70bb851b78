package kubeletapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podworker"
)

// streamIdle is when a session in which nothing is said is cut, as a kubelet does it.
const streamIdle = 4 * time.Hour

// exec runs a command in a container for a user.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	worker, known := s.ofRequest(w, r)
	if !known {
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := r.PathValue("container")
	remotecommand.ServeExec(w, r, executor{worker}, worker.Name(), string(worker.UID()), name,
		r.URL.Query()["command"],
		options, streamIdle, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

// executor runs commands in the containers of one pod.
type executor struct{ *podworker.Worker }

var _ remotecommand.Executor = executor{}

// ExecInContainer runs a command with the container's environment.
func (e executor) ExecInContainer(ctx context.Context, _, _, name string, command []string, in io.Reader, out,
	errout io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	process, c, err := e.Running(ctx, name)
	if err != nil {
		return err
	}
	c.Args, c.TTY, c.Resize = command, tty, sizes(ctx, resize)
	if in != nil {
		c.Stdin = in
	}
	if out != nil {
		c.Stdout = out
	}
	if errout != nil {
		c.Stderr = errout
	}
	exit, err := process.Exec(ctx, c)
	if _, is := errors.AsType[*container.StartError](err); is {
		return utilexec.CodeExitError{Err: err, Code: 127}
	}
	if err == nil && exit.Code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit status %d", exit.Code), Code: exit.Code}
	}
	return err
}

func sizes(ctx context.Context, from <-chan remotecommand.TerminalSize) <-chan container.Size {
	to := make(chan container.Size)
	go func() {
		defer close(to)
		for {
			select {
			case size, ok := <-from:
				if !ok {
					return
				}
				select {
				case to <- container.Size{Width: size.Width, Height: size.Height}:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}

// portForward joins a user's connections with ports of a pod.
func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	worker, known := s.ofRequest(w, r)
	if !known {
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{worker}, worker.Name(), string(worker.UID()), options,
		streamIdle, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

// forwarder connects to ports of one pod.
type forwarder struct{ *podworker.Worker }

var _ portforward.PortForwarder = forwarder{}

// PortForward copies both ways until one side ends.
func (f forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	ip, answered := f.IP(ctx)
	if !answered {
		return podworker.ErrGone
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp4", net.JoinHostPort(ip, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("connect to port %d of the pod: %w", port, err)
	}
	defer connection.Close()
	ended := make(chan struct{}, 3)
	go func() {
		_, err := io.Copy(connection, stream)
		if tcp, ok := connection.(*net.TCPConn); ok && err == nil {
			_ = tcp.CloseWrite() // fails where the pod has closed it
		}
		ended <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(stream, connection) // whichever side has closed, it is over
		ended <- struct{}{}
		ended <- struct{}{} // what the pod has closed is over, whatever the user still sends
	}()
	for range 2 {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
