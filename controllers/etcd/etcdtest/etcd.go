// Package etcdtest runs a real etcd on a unix socket for tests, with stock limits and fsync on. With -short, tests that
// ask for one are skipped. It is not for anything that runs outside a test.
package etcdtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/transplant-sim/transplant/clusters/integrationtest"
	"github.com/transplant-sim/transplant/clusters/tied"
)

// startDeadline bounds the start of etcd on a busy machine.
const startDeadline = 60 * time.Second

// Etcd is a running etcd.
type Etcd struct {
	// DataDir is its data directory.
	DataDir string
	// Socket is the path on which it listens, and Endpoint the same as etcd writes it.
	Socket, Endpoint string
	// Client is connected to the socket.
	Client *clientv3.Client

	command *exec.Cmd
	exited  chan struct{}
	log     string
}

// Binary is the control-plane binary that TRANSPLANT_KUBERNETES_BIN names; the TestMain of a package that uses etcdtest
// sets it. It fails the test without one.
func Binary(t testing.TB) string {
	t.Helper()
	integrationtest.Mark(t, "starts etcd")
	path := os.Getenv("TRANSPLANT_KUBERNETES_BIN")
	if path == "" {
		t.Fatal("TRANSPLANT_KUBERNETES_BIN must name the control-plane binary")
	}
	return path
}

// Start runs etcd on the data directory until the test ends or Stop.
func Start(t testing.TB, dataDir string) *Etcd {
	t.Helper()
	// A unix socket's path must be short, shorter than a test's own folder may be.
	run, err := os.MkdirTemp("", "etcd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(run); err != nil {
			t.Errorf("remove the folder of etcd's socket: %v", err)
		}
	})
	e := &Etcd{DataDir: dataDir, Socket: filepath.Join(run, "etcd.sock:0"), log: filepath.Join(run, "log")}
	e.Endpoint = "unix://" + e.Socket
	e.launch(t)
	t.Cleanup(func() { e.Stop(t) })
	return e
}

func (e *Etcd) launch(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(e.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	const peer = "unix://peer:0" // it has none; the socket lies in its working directory
	e.command = exec.Command(Binary(t), "etcd", "--name=etcd-main", "--data-dir="+e.DataDir,
		"--listen-client-urls="+e.Endpoint, "--advertise-client-urls=http://127.0.0.1:2379", // etcd advertises no socket
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=etcd-main="+peer,
		"--log-level=warn")
	e.command.Dir = filepath.Dir(e.log)
	e.command.Stdout, e.command.Stderr = log, log
	if err := tied.Start(e.command, syscall.SIGKILL); err != nil {
		t.Fatalf("start etcd: %v", err)
	}
	if e.Client, err = Dial(e.Endpoint); err != nil {
		t.Fatal(err)
	}
	e.exited = make(chan struct{})
	go func() {
		_ = e.command.Wait() // it is killed, which Wait reports as an error
		close(e.exited)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), startDeadline)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := e.Client.Get(try, "ready?")
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil || e.hasExited() {
			content, _ := os.ReadFile(e.log)
			t.Fatalf("etcd does not answer: %v\n%s", err, content)
		}
	}
}

// Dial makes a client for an endpoint without TLS.
func Dial(endpoint string) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("make a client for %q: %w", endpoint, err)
	}
	return client, nil
}

func (e *Etcd) hasExited() bool {
	select {
	case <-e.exited:
		return true
	default:
		return false
	}
}

// Stop kills etcd, as a lost node does. It may be called twice.
func (e *Etcd) Stop(t testing.TB) {
	t.Helper()
	if e.hasExited() {
		return
	}
	e.Client.Close()
	if err := e.command.Process.Kill(); err != nil {
		t.Errorf("kill etcd: %v", err)
	}
	<-e.exited
}
