package etcd_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/otheruser"
	"github.com/transplant-sim/transplant/controllers/etcd"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/guard"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// unknown has a certificate of the shoot's etcd CA, and no place in the table.
const unknown access.Identity = "unknown"

// live is a shoot's guard as a process, with a sidecar beside it.
type live struct {
	*guardProcess
	routes map[string][]access.Route // of each server
	urls   map[string]string         // of each server's API
	open   map[string]string         // of each server's probes and metrics
}

func startLive(t *testing.T) *live {
	t.Helper()
	g := startGuard(t, time.Minute)
	l := &live{
		guardProcess: g, open: map[string]string{"guard": g.http, "sidecar": strings.Replace(g.http, ":2381", ":8080", 1)},
		urls:   map[string]string{"guard": g.api, "sidecar": strings.Replace(g.api, ":2382", ":8081", 1)},
		routes: map[string][]access.Route{"guard": (&guard.Server{}).Routes(), "sidecar": (&backup.Sidecar{}).Routes()},
	}
	bucket := filepath.Join(t.TempDir(), "bucket")
	write(t, bucket, "backups")
	files := filesOf(g.keys, access.Guard)
	command := etcd.NewBackupCommand()
	command.SetArgs([]string{
		"serve", "--listen=" + strings.TrimPrefix(l.open["sidecar"], "http://"),
		"--api-listen=" + strings.TrimPrefix(l.urls["sidecar"], "https://"),
		"--ca-file=" + files.CA, "--cert-file=" + files.Cert, "--key-file=" + files.Key, "--epoch=3",
		"--cloud-kubeconfig=" + g.kubeconfig, "--bucket-file=" + bucket, "--endpoint=" + g.etcd.Endpoint,
		"--data-dir=" + g.etcd.DataDir,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.ExecuteContext(ctx) // there is no bucket, so it never gets beyond looking for one
	}()
	t.Cleanup(func() { cancel(); <-ended })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if response, err := http.Get(l.open["sidecar"] + "/healthz"); err == nil {
			response.Body.Close()
			return l
		}
		if time.Now().After(deadline) {
			t.Fatal("the sidecar does not come up")
		}
	}
}

// ask an endpoint for what does no harm where it is allowed: the epoch is none that anybody has.
func ask(t *testing.T, client *http.Client, url string, route access.Route) (int, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if route.Path == validity.PathRevocation { // it stays open for who may ask
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
	}
	request, err := http.NewRequestWithContext(ctx, route.Method, url+route.Path+"?epoch=99&final=true&instance=gateway/1",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// whole checks that the shoot goes on as before: its epoch is served.
func (l *live) whole(t *testing.T) {
	t.Helper()
	l.is(t, http.StatusOK)
	client := &http.Client{Transport: access.Transport(filesOf(l.keys, access.Observer).Read)}
	code, body, err := ask(t, client, l.api, access.Route{Method: http.MethodGet, Path: validity.PathState})
	var state validity.Answer
	if err = errors.Join(err, json.Unmarshal([]byte(body), &state)); err != nil || state.State != validity.Serving ||
		state.Epoch != 3 {
		t.Errorf("the guard answers %d %s: %v", code, body, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := l.client(t).Put(ctx, "after", "the attack"); err != nil {
		t.Errorf("the shoot's API server cannot write any more: %v", err)
	}
}

// tableOf reads the table in the comment of package access.
func tableOf(t *testing.T) map[string][]access.Identity {
	t.Helper()
	content, err := os.ReadFile("access/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]access.Identity{}
	for _, row := range regexp.MustCompile(`(?m)^//\t(guard|sidecar) +(GET|POST) +(/\S+) +(.+)$`).FindAllStringSubmatch(
		string(content), -1) {
		for _, name := range strings.Fields(row[4]) {
			key := strings.Join(row[1:4], " ")
			table[key] = append(table[key], access.Identity(name))
		}
	}
	return table
}

// Every endpoint has a row in the table, and on a live guard and sidecar every cell is as the table says.
func TestTableOfAccess_EveryCell(t *testing.T) {
	t.Parallel()
	l, served := startLive(t), map[string][]access.Identity{}
	table := tableOf(t)
	for server, routes := range l.routes {
		for _, route := range routes {
			row := server + " " + route.Method + " " + route.Path
			served[row] = slices.Sorted(slices.Values(route.Allowed))
			for _, identity := range identitiesAnd(unknown) {
				client := &http.Client{Transport: access.Transport(filesOf(l.keys, identity).Read)}
				code, body, err := ask(t, client, l.urls[server], route)
				allowed, staysOpen := slices.Contains(table[row], identity), route.Path == validity.PathRevocation
				switch {
				case !allowed && (code != http.StatusForbidden || !strings.Contains(body, string(identity))):
					t.Errorf("%s as %s: %d %s, %v; want it forbidden", row, identity, code, body, err)
				case allowed && err != nil && !(staysOpen && errors.Is(err, context.DeadlineExceeded)),
					code == http.StatusUnauthorized, allowed && code == http.StatusForbidden:
					t.Errorf("%s as %s: %d %s, %v; want it let in", row, identity, code, body, err)
				}
			}
		}
	}
	if diff := cmp.Diff(table, served); diff != "" {
		t.Errorf("the table and the routes (-table +routes):\n%s", diff)
	}
	for _, identity := range identitiesAnd(unknown) {
		err := putAs(t, l, filesOf(l.keys, identity))
		if allowed := identity == access.APIServer; allowed != (err == nil) {
			t.Errorf("etcd's client port as %s: %v", identity, err)
		}
	}
	l.whole(t)
}

func putAs(t *testing.T, l *live, files access.Files) error {
	t.Helper()
	credentials, err := files.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := credentials.Client()
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = nil
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + l.endpoint}, TLS: config,
		Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err = client.Put(ctx, "who", "me")
	return err
}

// Who has no certificate of this shoot's etcd CA is answered by no endpoint, and a shoot that is attacked goes on.
func TestAttack_WithoutTheShootsCertificate_IsRefused(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	ca := filesOf(l.keys, access.Gardenlet).CA
	other := newKeys(t)
	with := func(files access.Files) *http.Client {
		files.CA = ca // so that the attacker takes the server's certificate
		return &http.Client{Transport: access.Transport(files.Read)}
	}
	blind := &tls.Config{InsecureSkipVerify: true} // an attacker does not mind
	attackers := map[string]*http.Client{
		"without a certificate":                {Transport: &http.Transport{TLSClientConfig: blind}},
		"as a gardenlet of another shoot":      with(filesOf(other, access.Gardenlet)),
		"as a gateway of another shoot":        with(filesOf(other, access.Gateway)),
		"as the other shoot's CA itself":       with(access.Files{Cert: other.Certificate("ca"), Key: other.Key("ca")}),
		"with the certificate, not the key":    {Transport: &http.Transport{TLSClientConfig: stolen(t, l.keys, other)}},
		"by plain HTTP on the port of the API": {Transport: plain{}},
	}
	for name, client := range attackers {
		for server, routes := range l.routes {
			for _, route := range routes {
				code, body, err := ask(t, client, l.urls[server], route)
				if err == nil && code != http.StatusBadRequest { // what a TLS server says to plain HTTP
					t.Errorf("%s, %s %s of the %s: %d %s", name, route.Method, route.Path, server, code, body)
				}
			}
		}
	}
	for server, routes := range l.routes {
		for _, route := range routes {
			if code, body, err := ask(t, http.DefaultClient, l.open[server], route); err != nil || code != http.StatusNotFound {
				t.Errorf("on the open port, %s %s of the %s: %d %s, %v", route.Method, route.Path, server, code, body, err)
			}
		}
		for _, path := range []string{"/healthz", "/metrics"} {
			if code, body, err := ask(t, http.DefaultClient, l.open[server],
				access.Route{Method: http.MethodGet, Path: path}); err != nil || code != http.StatusOK {
				t.Errorf("%s of the %s is not open: %d %s, %v", path, server, code, body, err)
			}
		}
	}
	for _, identity := range []access.Identity{access.APIServer, access.Guard} {
		if err := putAs(t, l, access.Files{CA: ca, Cert: other.Certificate(string(identity)),
			Key: other.Key(string(identity))}); err == nil {
			t.Errorf("etcd takes a write from %s of another shoot", identity)
		}
	}
	l.whole(t)
}

// stolen has the certificate of a gardenlet, and signs with another key: it is for the server to find out.
func stolen(t *testing.T, keys, other pki.Folder) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(other.Certificate("gardenlet"), other.Key("gardenlet"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(keys.Certificate("gardenlet"), keys.Key("gardenlet"))
	if err != nil {
		t.Fatal(err)
	}
	pair.Certificate, pair.Leaf = own.Certificate, own.Leaf
	return &tls.Config{
		InsecureSkipVerify:   true, // as above
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}
}

// plain speaks HTTP without TLS, whatever the address says.
type plain struct{}

func (plain) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return http.DefaultTransport.RoundTrip(r)
}

// A client neither gives its secrets to, nor believes the answers of, a server that only says that it is a guard.
func TestClients_RefuseAServerThatIsNoGuard(t *testing.T) {
	t.Parallel()
	l, other := startLive(t), newKeys(t, "127.0.0.1")
	for name, files := range map[string]access.Files{
		"of another shoot":              filesOf(other, access.Guard),
		"a client of the same shoot":    filesOf(l.keys, access.Gateway),
		"the API server of the same CA": filesOf(l.keys, access.APIServer),
	} {
		config, err := access.ServeTLS(files, "http/1.1")
		if err != nil {
			t.Fatal(err)
		}
		listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
		if err != nil {
			t.Fatal(err)
		}
		server := access.Server(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Errorf("%s was asked", name)
		}), logr.Discard())
		go func() { _ = server.Serve(listener) }()
		client := &http.Client{Transport: access.Transport(filesOf(l.keys, access.Gardenlet).Read)}
		_, _, err = ask(t, client, "https://"+listener.Addr().String(), access.Route{Method: http.MethodGet, Path: "/state"})
		if _, refused := errors.AsType[*tls.CertificateVerificationError](err); !refused {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}

// A request is small.
func TestServer_BoundsWhatAClientMayAsk(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	as := func(identity access.Identity) *http.Client {
		return &http.Client{Transport: access.Transport(filesOf(l.keys, identity).Read)}
	}
	for name, c := range map[string]struct {
		path, body string
		header     http.Header
		code       int
	}{
		"a body": {path: "/left", body: "x", code: http.StatusRequestEntityTooLarge},
		"long headers": {path: "/left", header: http.Header{"X": {strings.Repeat("x", 12<<10)}},
			code: http.StatusRequestHeaderFieldsTooLarge},
		"a long name": {path: "/left?instance=" + strings.Repeat("x", 300), code: http.StatusBadRequest},
		"a longer name": {path: "/left?instance=" + strings.Repeat("x", 12<<10),
			code: http.StatusRequestHeaderFieldsTooLarge},
		"none of these": {path: "/left?instance=x", code: http.StatusNoContent},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.api+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		for key, values := range c.header {
			request.Header[key] = values
		}
		response, err := as(access.Gateway).Do(request)
		if err != nil && c.code == http.StatusRequestHeaderFieldsTooLarge {
			continue // cut off before it could read why
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		response.Body.Close()
		if response.StatusCode != c.code {
			t.Errorf("%s: %s, want %d", name, response.Status, c.code)
		}
	}
}

// A flood of questions that stay open is bounded, and takes nobody else's turn: not that of who ends the epoch either.
func TestHandler_AFloodOfOneIdentity_HoldsUpNoOther(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	config, err := access.ServeTLS(filesOf(keys, access.Guard), "http/1.1")
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}, access.MaxRequests), make(chan struct{})
	slow := access.Route{Method: http.MethodGet, Path: "/slow", Allowed: []access.Identity{access.Gateway}}
	slow.Serve = func(http.ResponseWriter, *http.Request, access.Identity) {
		entered <- struct{}{}
		<-release
	}
	quick := access.Route{Method: http.MethodPost, Path: "/quick", Allowed: []access.Identity{access.Gateway,
		access.Gardenlet}}
	quick.Serve = func(http.ResponseWriter, *http.Request, access.Identity) {}
	server := httptest.NewUnstartedServer(access.Handler([]access.Route{slow, quick}))
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	do := func(identity access.Identity, route access.Route) (int, error) {
		client := &http.Client{Transport: access.Transport(filesOf(keys, identity).Read)}
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), route.Method, server.URL+route.Path, nil)
		if err != nil {
			return 0, err
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	var flood sync.WaitGroup
	for range access.MaxRequests {
		flood.Go(func() {
			if code, err := do(access.Gateway, slow); code != http.StatusOK || err != nil {
				t.Errorf("one of as many as may be: %d, %v", code, err)
			}
		})
	}
	for range access.MaxRequests {
		<-entered
	}
	if code, err := do(access.Gateway, slow); code != http.StatusTooManyRequests {
		t.Errorf("one more: %d, %v", code, err)
	}
	if code, err := do(access.Gateway, quick); code != http.StatusTooManyRequests {
		t.Errorf("one more, at another endpoint: %d, %v", code, err)
	}
	if code, err := do(access.Gardenlet, quick); code != http.StatusOK {
		t.Errorf("another identity: %d, %v", code, err)
	}
	close(release)
	flood.Wait()
	if code, err := do(access.Gateway, quick); code != http.StatusOK {
		t.Errorf("after the flood: %d, %v", code, err)
	}
}

// Another user of the machine can read no key, and reaches etcd's socket as little.
func TestAttack_AsAnotherUser_IsRefused(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	for _, identity := range identitiesAnd("ca") {
		err := otheruser.Do(t, func() error {
			_, err := os.ReadFile(l.keys.Key(string(identity)))
			return err
		})
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("the key of %s: %v", identity, err)
		}
	}
	err := otheruser.Do(t, func() error {
		conn, err := net.Dial("unix", l.etcd.Socket)
		if err == nil {
			err = fmt.Errorf("connected to %s", conn.RemoteAddr())
		}
		return err
	})
	if !errors.Is(err, os.ErrPermission) {
		t.Errorf("etcd's socket: %v", err)
	}
	l.whole(t)
}
