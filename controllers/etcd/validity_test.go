package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// reissue puts a certificate with another validity, from and until hours from now, in the place of an identity's.
func reissue(t *testing.T, keys pki.Folder, identity access.Identity, from, until time.Duration) {
	t.Helper()
	ca, err := tls.LoadX509KeyPair(keys.Certificate("ca"), keys.Key("ca"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: string(identity)}, DNSNames: []string{access.ServerName},
		NotBefore: time.Now().Add(from * time.Hour), NotAfter: time.Now().Add(until * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if identity == access.Guard {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	pair := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	if err := keys.WriteKeyPair(string(identity), pair); err != nil {
		t.Fatal(err)
	}
}

// serve a handler as the guard does, and give its URL.
func serve(t *testing.T, keys pki.Folder, maxVersion uint16, handler http.HandlerFunc) string {
	t.Helper()
	config, err := access.ServeTLS(filesOf(keys, access.Guard), "http/1.1")
	if err != nil {
		t.Fatal(err)
	}
	perConnection := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		config, err := perConnection(hello)
		if err == nil {
			config.MaxVersion = maxVersion
		}
		return config, err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	server := access.Server(handler, logr.Discard())
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { server.Close() })
	return "https://" + listener.Addr().String()
}

// listen does the same with every connection, and gives the URL.
func listen(t *testing.T, accepted func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
			accepted(connection)
		}
	}()
	return "https://" + listener.Addr().String()
}

func saying(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

func stalled(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Only a guard that is silent may have lost its data (docs/ownership.md#o10). One that refuses or has not finished is
// well, and so is one that the gardenlet cannot ask.
func TestAwaitEnd_WaitIsOver_DistinguishesSilenceFromAnswers(t *testing.T) {
	t.Parallel()
	answers := func(code int, body string) func(*testing.T, pki.Folder) string {
		return func(t *testing.T, keys pki.Folder) string { return serve(t, keys, 0, saying(code, body)) }
	}
	valid := func(
		identity access.Identity, from, until time.Duration, version uint16,
	) func(*testing.T, pki.Folder) string {
		return func(t *testing.T, keys pki.Folder) string {
			reissue(t, keys, identity, from, until)
			return serve(t, keys, version, saying(http.StatusOK, `{"epoch":3,"finished":true}`))
		}
	}
	for name, c := range map[string]struct {
		guard  func(*testing.T, pki.Folder) string
		silent bool
		says   string
	}{
		"nobody listens": {silent: true, guard: func(*testing.T, pki.Folder) string { return "https://127.220.21.1:2382" }},
		"frozen": {silent: true, guard: func(t *testing.T, _ pki.Folder) string {
			return listen(t, func(net.Conn) {})
		}},
		"connections break": {silent: true, guard: func(t *testing.T, _ pki.Folder) string {
			return listen(t, func(c net.Conn) { c.Close() })
		}},
		"questions stay open": {silent: true, guard: func(t *testing.T, keys pki.Folder) string {
			return serve(t, keys, 0, stalled)
		}},

		"it serves its epoch": {guard: answers(http.StatusNoContent, "")},
		"it has not finished": {guard: answers(http.StatusOK, `{"epoch":3,"message":"not yet"}`),
			says: "of which the guard says in epoch 3: not yet: "},
		"of another epoch":       {guard: answers(http.StatusOK, `{"epoch":4,"finished":true}`)},
		"no sense":               {guard: answers(http.StatusOK, "no sense")},
		"401":                    {guard: answers(http.StatusUnauthorized, "")},
		"403":                    {guard: answers(http.StatusForbidden, ""), says: "of which the guard says nothing: "},
		"429":                    {guard: answers(http.StatusTooManyRequests, "")},
		"500":                    {guard: answers(http.StatusInternalServerError, "")},
		"guard expired":          {guard: valid(access.Guard, -2, -1, 0)},
		"guard not yet valid":    {guard: valid(access.Guard, 1, 2, 0)},
		"client expired":         {guard: valid(access.Gardenlet, -2, -1, 0)},
		"client not yet valid":   {guard: valid(access.Gardenlet, 1, 2, 0)},
		"client expired, TLS1.2": {guard: valid(access.Gardenlet, -2, -1, tls.VersionTLS12)},
		"client of another CA": {guard: func(t *testing.T, keys pki.Folder) string {
			return serve(t, newKeys(t), 0, saying(http.StatusOK, ""))
		}},
		"no TLS": {guard: func(t *testing.T, _ pki.Folder) string {
			server := httptest.NewServer(saying(http.StatusOK, ""))
			t.Cleanup(server.Close)
			return strings.Replace(server.URL, "http:", "https:", 1)
		}},
		"it answers once": {guard: func(t *testing.T, keys pki.Folder) string {
			var asked atomic.Bool
			return serve(t, keys, 0, func(w http.ResponseWriter, r *http.Request) {
				if asked.Swap(true) {
					stalled(w, r)
				}
				_, _ = w.Write([]byte(`{"epoch":3,"message":"not yet"}`))
			})
		}, says: "of which the guard says in epoch 3: not yet: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, err := ownership.NewBootClock()
			if err != nil {
				t.Fatal(err)
			}
			keys, patience := newKeys(t), 5*time.Second // long enough for an answer on a busy machine
			if c.silent {
				patience = time.Second
			}
			guard := c.guard(t, keys)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			client := &http.Client{Transport: access.Transport(filesOf(keys, access.Gardenlet).Read)}
			err = validity.AwaitEnd(ctx, guard, 3, clock, client)
			if err == nil || errors.Is(err, validity.ErrSilent) != c.silent || !strings.Contains(err.Error(), c.says) {
				t.Errorf("silent is %t, want %t, and it says %q: %v", errors.Is(err, validity.ErrSilent), c.silent, c.says, err)
			}
		})
	}
}

// A certificate that is not valid lets nobody in, and one that was renewed does, without a restart of either side.
func TestServeTLS_CertificateRenewed_LetsInAgain(t *testing.T) {
	t.Parallel()
	for _, identity := range []access.Identity{access.Guard, access.Gateway} {
		for name, bounds := range map[string][2]time.Duration{"expired": {-2, -1}, "not yet valid": {1, 2}} {
			t.Run(string(identity)+" "+name, func(t *testing.T) {
				t.Parallel()
				keys := newKeys(t)
				url := serve(t, keys, 0, saying(http.StatusOK, ""))
				client := &http.Client{Transport: access.Transport(filesOf(keys, access.Gateway).Read)}
				get := func(want bool) {
					t.Helper()
					client.CloseIdleConnections()
					_, _, err := ask(t, client, url, access.Route{Method: http.MethodGet, Path: "/"})
					if (err == nil) != want {
						t.Errorf("let in: %v, want %t", err, want)
					}
				}
				get(true)
				reissue(t, keys, identity, bounds[0], bounds[1])
				get(false)
				reissue(t, keys, identity, -1, 1)
				get(true)
			})
		}
	}
}

// A guard that takes the connection and says nothing, as one that is frozen, holds nobody up for ever.
func TestTransport_HandshakeIsNotAnswered_GivesUp(t *testing.T) {
	t.Parallel()
	url := listen(t, func(net.Conn) {})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: access.Transport(filesOf(newKeys(t), access.Gateway).Read)}
	if _, err := client.Do(request); err == nil || ctx.Err() != nil {
		t.Errorf("it has waited until it was called off: %v", err)
	}
}
