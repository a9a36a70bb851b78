package connection_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/connection"
)

func TestLoad_Kubeconfig_NamesTheProgramAndLimitsCalls(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"contexts": [{"name": "x", "context": {"cluster": "x"}}],
		"clusters": [{"name": "x", "cluster": {"server": "https://api.test"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := connection.Load(path, "program", 100)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://api.test" || config.UserAgent != "program" || config.QPS != 100 || config.Burst != 200 {
		t.Errorf("got %q as %q with %v and %d calls", config.Host, config.UserAgent, config.QPS, config.Burst)
	}
	if _, err := connection.Load(path+".none", "program", 100); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("without a file: got %v, want its name", err)
	}
}

func TestLive_ServerThatDoesNotAnswer_CallEnds(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	config := &rest.Config{Host: server.URL}
	clients, err := connection.Live(50*time.Millisecond)(config, client.Options{})
	if err == nil {
		err = clients.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "a"}, &corev1.Secret{})
	}
	if timeout, is := errors.AsType[net.Error](err); !is || !timeout.Timeout() {
		t.Errorf("got %v, want a timeout", err)
	}
	if config.Timeout != 0 {
		t.Error("the configuration of the caller has a timeout too")
	}
}
