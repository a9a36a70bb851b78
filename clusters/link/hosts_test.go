package link_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// A proxy keeps no link for each of the hosts that it is asked for, and loses none that is in use.
func TestProxyIsAskedForThousandsOfHosts(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	u.resolveOnly("api.test")
	client, at := u.proxied(u.proxy), u.named("api.test")
	watch := open(t, client, at+"/watch") // stays open all the time
	defer watch.Body.Close()
	pinned := u.proxy.Link("pinned.test")

	heal := u.proxy.BeginAll(requests.Fail{
		Match: kubeapi.Match{Resource: "none"}, Status: http.StatusServiceUnavailable,
	}, nil).Heal
	const asked = 5000
	hosts := make(chan string)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for host := range hosts {
				if status, err := connect(t.Context(), u.proxy, host); err != nil || status != http.StatusBadGateway {
					t.Errorf("%s: %d, %v", host, status, err)
				}
			}
		})
	}
	for i := range asked {
		hosts <- fmt.Sprintf("x%d.test", i)
	}
	close(hosts)
	callers.Wait()
	if n := len(u.proxy.Links()); n > 4096 {
		t.Errorf("the proxy keeps %d links", n)
	}
	if got := u.proxy.Stats().Connections; got < asked+1 {
		t.Errorf("%d connections were counted", got)
	}
	heal()
	if faults := u.proxy.Stats().Faults; faults != 0 {
		t.Errorf("%d faults stay after the heal", faults)
	}
	if u.proxy.Link("pinned.test") != pinned {
		t.Error("a link that somebody has was dropped")
	}
	if open := u.proxy.Link("api.test").Stats().OpenConnections; open == 0 {
		t.Error("a link with a connection was dropped")
	}
	expect(t, client, at, "0 ")

	if status, err := connect(t.Context(), u.proxy, strings.Repeat("x", 300)); err != nil ||
		status != http.StatusServiceUnavailable {
		t.Errorf("a name that no DNS has: %d, %v", status, err)
	}
	if _, err := connect(t.Context(), u.proxy, strings.Repeat("x", 1<<20)); err == nil {
		t.Error("a head without an end was read")
	}
}

// resolveOnly one host; all others are unknown to DNS.
func (u *town) resolveOnly(host string) {
	u.names.only = host
}

var errUnknownHost = errors.New("no such host")

// connect asks a proxy for a host, and gives the status of its answer.
func connect(ctx context.Context, p *link.Proxy, host string) (int, error) {
	where, err := url.Parse(p.URL())
	if err != nil {
		return 0, err
	}
	socket, err := (&net.Dialer{}).DialContext(ctx, "tcp", where.Host)
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	if _, err := fmt.Fprintf(socket, "CONNECT %s:443 HTTP/1.1\r\nHost: %[1]s:443\r\n\r\n", host); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(socket), nil)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
