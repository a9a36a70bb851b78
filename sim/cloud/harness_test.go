package cloud

import (
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"k8s.io/client-go/rest"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// testCloud is a server with a client for each identity.
type testCloud struct {
	*Server
	http *httptest.Server
	dir  string
}

// roleTenant is for tests of what the cloud does with calls that it lets through: it may change everything, and is
// bound to no seed. No landscape has it.
const roleTenant Role = "tenant"

func init() {
	rights[roleTenant] = map[string][]string{api.KindZones: keeps, api.KindFences: {api.VerbFence}}
	for _, role := range ofSeeds {
		for kind, verbs := range rights[role] {
			rights[roleTenant][kind] = append(rights[roleTenant][kind], verbs...)
		}
	}
	rights[roleTenant][api.KindMachines] = append(rights[roleTenant][api.KindMachines], api.VerbReboot)
}

func tokenFile(t testing.TB, more ...Token) string {
	t.Helper()
	content, err := json.Marshal(TokenFile{Tokens: append([]Token{
		{Token: "t-admin", Identity: "admin", Roles: []Role{RoleAdmin}},
		{Token: "t-observer", Identity: "observer", Roles: []Role{RoleObserver}},
		{Token: "t-nodes", Identity: "nodes", Roles: []Role{RoleNodes}},
		{Token: "t-a", Identity: "extensions-a", Roles: []Role{roleTenant}},
		{Token: "t-b", Identity: "extensions-b", Roles: []Role{roleTenant}},
	}, more...)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t testing.TB, options Options) *testCloud {
	t.Helper()
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	if options.Tokens == "" {
		options.Tokens = tokenFile(t)
	}
	options.Log = logr.Discard()
	if test, ok := t.(*testing.T); ok {
		options.Log = testr.New(test)
	}
	server, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.230.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(server.Handler())
	web.Listener.Close()
	web.Listener = listener
	web.EnableHTTP2 = true
	web.Config.ErrorLog = nil
	web.StartTLS()
	c := &testCloud{Server: server, http: web, dir: options.Dir}
	t.Cleanup(c.stop)
	return c
}

func (c *testCloud) stop() {
	if c.http == nil {
		return
	}
	c.db.ledger.EndWaits()
	c.http.Close()
	c.Server.Close()
	c.http = nil
}

func (c *testCloud) as(t testing.TB, identity string) *api.Client {
	t.Helper()
	tokens := map[string]string{"admin": "t-admin", "observer": "t-observer", "nodes": "t-nodes", "extensions-a": "t-a",
		"extensions-b": "t-b"}
	token, known := tokens[identity]
	if !known {
		token = identity
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.http.Certificate().Raw})
	client, err := api.New(&rest.Config{
		Host: c.http.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: certificate,
			ServerName: "example.com"},
	}, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (c *testCloud) ledgerOf(t testing.TB) []api.LedgerEntry {
	t.Helper()
	entries, err := c.as(t, "observer").Ledger(t.Context(), api.LedgerQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// must returns the value of a call that is part of a test's preparation.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func wantCode(t testing.TB, err error, code api.Code) {
	t.Helper()
	if api.CodeOf(err) != code {
		t.Errorf("error is %v with code %q, want code %q", err, api.CodeOf(err), code)
	}
}
