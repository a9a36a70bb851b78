package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Phase is where a landscape is in its life.
type Phase string

// The phases of a landscape.
const (
	Starting Phase = "Starting"
	Ready    Phase = "Ready"
	Stopping Phase = "Stopping"
)

// Status is the answer to GET /v1/status. State is there from phase Ready on.
type Status struct {
	Phase Phase         `json:"phase"`
	State *rundir.State `json:"state,omitempty"`
}

// api is the supervisor's HTTP API on the unix socket: GET /v1/status, POST /v1/stop, and
// POST /v1/clusters/<name>/<ability>.
type api struct {
	dir    rundir.Dir
	server *http.Server
	stop   func()
	served chan struct{}

	mutex     sync.Mutex
	phase     Phase
	landscape Landscape
}

func newAPI(dir rundir.Dir, stop func()) (*api, error) {
	listener, err := listen(dir)
	if err != nil {
		return nil, err
	}
	a := &api{dir: dir, stop: stop, phase: Starting, served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", a.serveStatus)
	mux.HandleFunc("POST /v1/stop", a.serveStop)
	mux.HandleFunc("POST /v1/clusters/{cluster}/{ability}", a.serveAbility)
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(a.served)
		_ = a.server.Serve(listener) // ends with close
	}()
	return a, nil
}

// listen opens the socket through the folder's descriptor: the name of a unix socket may have 107 bytes, and run
// directories are often longer.
func listen(dir rundir.Dir) (net.Listener, error) {
	short, done, err := shortened(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.Listen("unix", short)
	if err != nil {
		return nil, fmt.Errorf("open the socket %q: %w", dir.Socket(), err)
	}
	// Only the folder's owner may enter it; this is for those who loosen the folder.
	if err := os.Chmod(dir.Socket(), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect the socket: %w", err), listener.Close())
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // the short name means nothing later
	return listener, nil
}

func shortened(dir rundir.Dir) (path string, done func() error, err error) {
	folder, err := os.Open(dir.Path)
	if err != nil {
		return "", nil, fmt.Errorf("open the run directory: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(dir.Socket())), folder.Close, nil
}

func (a *api) ready(landscape Landscape) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.phase, a.landscape = Ready, landscape
}

func (a *api) stopping() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.phase = Stopping
}

func (a *api) close() {
	_ = a.server.Close()
	<-a.served
	_ = os.Remove(a.dir.Socket())
}

func (a *api) serveStatus(w http.ResponseWriter, _ *http.Request) {
	a.mutex.Lock()
	status := Status{Phase: a.phase}
	if a.landscape != nil {
		state := a.landscape.State()
		status.State = &state
	}
	a.mutex.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(status) // the client may be gone
}

func (a *api) serveStop(w http.ResponseWriter, _ *http.Request) {
	a.stop()
	w.WriteHeader(http.StatusAccepted)
}

// askTimeout bounds the question for the status.
const askTimeout = 5 * time.Second

// AskStatus asks the supervisor of a landscape. It is an error when none answers.
func AskStatus(ctx context.Context, dir rundir.Dir) (Status, error) {
	response, err := call(ctx, dir, http.MethodGet, "/v1/status", askTimeout)
	if err != nil {
		return Status{}, err
	}
	defer response.Body.Close()
	var status Status
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		return Status{}, fmt.Errorf("read the status of landscape %q: %w", dir.Name, err)
	}
	return status, nil
}

// call the API. A timeout of 0 is none.
func call(ctx context.Context, dir rundir.Dir, method, path string, timeout time.Duration) (*http.Response, error) {
	short, done, err := shortened(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", short)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: timeout}
	request, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the supervisor of landscape %q: %w", dir.Name, err)
	}
	return response, nil
}
