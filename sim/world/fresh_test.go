package world

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// freshServer counts its connections and resumed sessions.
func freshServer(t *testing.T, handle http.HandlerFunc) (config *rest.Config, connections, resumed *atomic.Int64) {
	t.Helper()
	connections, resumed = &atomic.Int64{}, &atomic.Int64{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		handle(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	config = &rest.Config{Host: server.URL, BearerToken: "secret"}
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return config, connections, resumed
}

// connectProxy answers CONNECT with a status line, and passes bytes on if that is 200.
func connectProxy(t *testing.T, status string) *url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				head := make([]byte, 4096)
				n, _ := client.Read(head)
				target, _, _ := strings.Cut(strings.TrimPrefix(string(head[:n]), "CONNECT "), " ")
				_, _ = io.WriteString(client, "HTTP/1.1 "+status+"\r\n\r\n")
				server, err := net.Dial("tcp", target)
				if err != nil || !strings.HasPrefix(status, "200") {
					return
				}
				defer server.Close()
				go func() { _, _ = io.Copy(server, client) }()
				_, _ = io.Copy(client, server)
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

func TestFreshTransport_EachRequest_HasAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, proxy := range map[string]*url.URL{
		"direct": nil, "by a proxy": connectProxy(t, "200 Connection established"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, connections, resumed := freshServer(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_, _ = w.Write([]byte(r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization") + " " + string(body)))
			})
			if proxy != nil {
				config.Proxy = http.ProxyURL(proxy)
			}
			transport, err := FreshTransport(config)
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: transport}
			for range 3 {
				answer, err := client.Post(config.Host+"/a?b=c", "text/plain", strings.NewReader("hello"))
				if err != nil {
					t.Fatal(err)
				}
				said, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if want := "POST /a?b=c Bearer secret hello"; string(said) != want || err != nil {
					t.Errorf("the answer is %q, %v; want %q", said, err, want)
				}
			}
			if connections.Load() != 3 || resumed.Load() != 2 {
				t.Errorf("%d connections, %d resumed; want 3 and 2", connections.Load(), resumed.Load())
			}
		})
	}
}

func TestFreshTransport_Failures_SayWhetherTheRequestHasLeft(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{}, 1)
	hang := func(_ http.ResponseWriter, r *http.Request) {
		hangs <- struct{}{}
		<-r.Context().Done()
	}
	breaks := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		change func(*rest.Config)
		handle http.HandlerFunc
		want   string
		left   bool
	}{
		"the proxy refuses": {change: func(c *rest.Config) {
			c.Proxy = http.ProxyURL(connectProxy(t, "502 link(user,shoot/alpha): connection refused"))
		}, handle: breaks, want: "link(user,shoot/alpha): connection refused"},
		"nobody listens": {change: func(c *rest.Config) { c.Host = "https://127.0.0.1:1" }, handle: breaks,
			want: "connection refused"},
		"another authority": {change: func(c *rest.Config) { c.CAData = nil }, handle: breaks,
			want: "certificate signed by unknown authority"},
		"no answer":             {handle: breaks, want: "EOF", left: true},
		"interrupted meanwhile": {handle: hang, want: context.Canceled.Error(), left: true},
	} {
		t.Run(name, func(t *testing.T) {
			config, _, _ := freshServer(t, c.handle)
			if c.change != nil {
				c.change(config)
			}
			transport, err := FreshTransport(config)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				select {
				case <-hangs: // the server has it
				case <-ctx.Done():
				}
				cancel()
			}()
			defer cancel()
			left := false
			traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { left = true }})
			request, err := http.NewRequestWithContext(traced, http.MethodGet, config.Host+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := transport.RoundTrip(request)
			if err == nil {
				_ = answer.Body.Close()
				t.Fatal("there is an answer")
			}
			if !strings.Contains(err.Error(), c.want) || left != c.left {
				t.Errorf("error %v, left %t; want %q, %t", err, left, c.want, c.left)
			}
		})
	}
}
