package apiproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	proxyproto "github.com/pires/go-proxyproto"
)

// address is one of this machine's own that no other test has.
func address(last int) string { return fmt.Sprintf("127.248.%d.%d", os.Getpid()%200+1, last) }

// gateway answers each connection with its name and the authority in the PROXY header.
func gateway(t *testing.T, name, at string) {
	t.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(at, gatewayPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				in := bufio.NewReader(conn)
				authority := "nothing"
				header, err := proxyproto.Read(in)
				if err == nil {
					tlvs, _ := header.TLVs()
					for _, tlv := range tlvs {
						if tlv.Type == proxyproto.PP2_TYPE_AUTHORITY {
							authority = string(tlv.Value)
						}
					}
				}
				_, _ = fmt.Fprintf(conn, "%s %s\n", name, authority)
				_, _ = io.Copy(conn, in) // an echo until the client ends
				_ = conn.Close()
			}()
		}
	}()
}

// names is a DNS of one name.
type names struct {
	address atomic.Pointer[string]
	asked   atomic.Int32
	ttl     time.Duration
}

func (n *names) resolve(context.Context, string) (string, time.Duration, error) {
	n.asked.Add(1)
	if at := n.address.Load(); at != nil {
		return *at, n.ttl, nil
	}
	return "", 0, errors.New("DNS is away")
}

func (n *names) lead(at string) { n.address.Store(&at) }

// greeting is what the far end of a new connection says first; empty if the connection ends before.
func greeting(t *testing.T, at string) (string, net.Conn) {
	t.Helper()
	conn, err := net.Dial("tcp4", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return line, conn
}

const host = "api.a.p.shoots.test"

func TestProxy_FollowsTheName(t *testing.T) {
	t.Parallel()
	gateway(t, "first", address(1))
	gateway(t, "second", address(2))
	dns := &names{}
	dns.lead(address(1))
	p, err := Open(net.JoinHostPort(address(3), "6443"), host, dns.resolve, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	at := net.JoinHostPort(address(3), "6443")
	if got, _ := greeting(t, at); got != "first "+host+"\n" {
		t.Errorf("the first connection reaches %q", got)
	}
	dns.lead(address(2))
	got, open := greeting(t, at)
	if got != "second "+host+"\n" {
		t.Errorf("after a move a connection reaches %q", got)
	}
	dns.address.Store(nil)
	if got, _ := greeting(t, at); got != "second "+host+"\n" {
		t.Errorf("without DNS a connection reaches %q", got)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := open.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection outlives its proxy: %v", err)
	}
	if conn, err := net.Dial("tcp4", at); err == nil {
		_ = conn.Close()
		t.Error("a closed proxy takes connections")
	}
}

// A name is believed for its TTL, but not where nobody answers any more.
func TestProxy_DeadGateway_AsksAgain(t *testing.T) {
	t.Parallel()
	gateway(t, "second", address(12))
	dns := &names{ttl: time.Hour}
	dns.lead(address(11)) // where nobody is
	at := net.JoinHostPort(address(13), "6443")
	p, err := Open(at, host, dns.resolve, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if got, _ := greeting(t, at); got != "" {
		t.Errorf("nobody answers with %q", got)
	}
	dns.lead(address(12))
	for range 2 {
		if got, _ := greeting(t, at); got != "second "+host+"\n" {
			t.Errorf("a connection reaches %q", got)
		}
	}
	if asked := dns.asked.Load(); asked != 2 {
		t.Errorf("DNS was asked %d times, want 2", asked)
	}
}
