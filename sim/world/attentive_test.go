package world

import (
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// freezer passes bytes on to a server until it is frozen: then connections stay, and nothing comes any more.
func freezer(t *testing.T, server string, frozen *atomic.Bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	pass := func(to io.Writer, from io.Reader) {
		for part := make([]byte, 4096); ; {
			n, err := from.Read(part)
			if err != nil {
				return
			}
			if !frozen.Load() {
				_, _ = to.Write(part[:n])
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = errors.Join(client.Close(), upstream.Close()) })
			go pass(upstream, client)
			go pass(client, upstream)
		}
	}()
	return listener.Addr().String()
}

// A watch of a server that stands still ends; one of a server that has nothing to say does not.
func TestWatchesOfAFrozenServerEnd(t *testing.T) {
	t.Parallel()
	const quiet = 20 * time.Millisecond
	speak := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			select {
			case <-speak:
				_, _ = io.WriteString(w, "event")
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	var frozen atomic.Bool
	config := &rest.Config{
		Host: "https://" + freezer(t, strings.TrimPrefix(server.URL, "https://"), &frozen),
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
			Bytes: server.Certificate().Raw})},
	}
	client, err := attentive(config, quiet, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	go func() { speak <- struct{}{} }()
	watch, err := client.Get(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	if watch.ProtoMajor != 2 {
		t.Fatalf("it is watched by %s, which knows no pings", watch.Proto)
	}
	event := make([]byte, 5)
	if _, err := io.ReadFull(watch.Body, event); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * quiet) // that nothing ends has no event
	go func() { speak <- struct{}{} }()
	if _, err := io.ReadFull(watch.Body, event); err != nil {
		t.Fatalf("the watch of a server that was only quiet: %v", err)
	}
	frozen.Store(true)
	ended := make(chan error, 1)
	go func() {
		_, err := watch.Body.Read(event)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a frozen server has said something")
		}
	case <-time.After(time.Minute):
		t.Error("the watch of a frozen server goes on")
	}
}
