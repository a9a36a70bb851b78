// Package apiservertest starts a real etcd and kube-apiserver for a test, with stock limits and fsync on. With -short,
// tests that ask for one are skipped.
//
// It runs no controllers, no scheduler and no nodes: a Deployment stays a wish. Tests that need pods start an embedded
// landscape.
package apiservertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/integrationtest"
)

// Options of a test's API server.
type Options struct {
	CRDs  []*apiextensionsv1.CustomResourceDefinition // installed and awaited
	Flags []string                                    // further flags of kube-apiserver, which win over ours
}

// startTimeout bounds everything until the API server is ready, on a machine with all cores busy.
const startTimeout = 3 * time.Minute

// Start starts an API server that ends with the test, and returns a configuration of a user who may do everything.
// It fails the test when there is no control-plane binary.
func Start(t testing.TB, options Options) *rest.Config {
	t.Helper()
	return rest.CopyConfig(StartServer(t, options).Config)
}

// StartServer is Start for tests that need more of the server than a configuration: its processes, its files.
func StartServer(t testing.TB, options Options) *Server {
	t.Helper()
	integrationtest.Mark(t, "starts etcd and kube-apiserver")
	server, err := launch(t.Context(), options)
	if err != nil {
		t.Fatalf("start the API server of the test: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of kube-apiserver's log:\n%s", server.logTail())
		}
		if err := server.Stop(); err != nil {
			t.Errorf("stop the API server of the test: %v", err)
		}
	})
	return server
}

// Server is a running API server and its etcd.
type Server struct {
	Config    *rest.Config // may do everything, authenticates with a bearer token
	Cluster   program.Cluster
	APIServer *process.Process
	Etcd      *process.Process

	runner *process.Runner
}

// launch starts an API server. The caller stops it; it does not survive the calling process in any case.
func launch(ctx context.Context, options Options) (*Server, error) {
	path, err := binary.Find(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "apiservertest-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the API server: %w", err)
	}
	s := &Server{runner: process.NewRunner()}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.start(ctx, path, dir, options); err != nil {
		err = fmt.Errorf("%w\nthe end of its log:\n%s", err, s.logTail())
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, path, dir string, options Options) error {
	s.Cluster = program.Cluster{Name: "test", Binary: path, Dir: dir}
	var err error
	if s.Cluster.Address, s.Cluster.Services, err = freeAddress(); err != nil {
		return err
	}
	if s.Cluster.AdminToken, err = randomToken(); err != nil {
		return err
	}
	if err := s.Cluster.Write(); err != nil {
		return err
	}
	if s.Etcd, err = s.runner.Start(s.Cluster.Etcd()); err != nil {
		return err
	}
	if s.APIServer, err = s.runner.Start(s.Cluster.APIServer(options.Flags...)); err != nil {
		return err
	}
	s.Config = &rest.Config{
		Host:            s.Cluster.URL(),
		BearerToken:     s.Cluster.AdminToken,
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.Cluster.PKI().Certificate("ca")},
		QPS:             -1, // no client-side limit
	}
	if err := program.AwaitReady(ctx, s.Config, s.Etcd, s.APIServer); err != nil {
		return err
	}
	if err := awaitNamespace(ctx, s.Config); err != nil {
		return err
	}
	return installCRDs(ctx, s.Config, options.CRDs)
}

// awaitNamespace waits for the namespace that tests use without making it: an API server makes its own ones, this the
// last of them, when it has said that it is ready.
func awaitNamespace(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for namespaces: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, establishedPoll, true, func(ctx context.Context) (bool, error) {
		_, err := clients.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, ignoreAway(err)
	})
	if err != nil {
		return fmt.Errorf("wait for the namespace %q: %w", metav1.NamespaceDefault, err)
	}
	return nil
}

// Stop kills both processes and removes their data, which nobody wants back. It may be called more than once.
func (s *Server) Stop() error {
	err := s.runner.Close()
	if s.Cluster.Dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(s.Cluster.Dir))
}

// tailBytes of the log are shown when a test has failed.
const tailBytes = 4096

func (s *Server) logTail() string {
	content, err := os.ReadFile(s.Cluster.Log("kube-apiserver"))
	if err != nil {
		return err.Error()
	}
	return string(content[max(0, len(content)-tailBytes):])
}
