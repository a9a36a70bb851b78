//go:build docker

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/e2e/knocktest"
)

// socketsScript prints addresses and sockets of each network in the node but its own. Networks differ by their
// routes: every pod has its own address.
const socketsScript = `seen=$(cksum </proc/1/net/fib_trie)
for p in /proc/[0-9]*; do
	network=$(cksum <$p/net/fib_trie) || continue
	case "$seen" in *"$network"*) continue ;; esac
	seen="$seen $network"
	echo network; cat $p/net/fib_trie $p/net/tcp $p/net/tcp6
done 2>/dev/null
true`

// ownAddress of a network, in its table of routes.
var ownAddress = regexp.MustCompile(`\|-- (\S+)\s+/32 host LOCAL`)

// listening are the sockets that listen in the pods of the seed, by the pods' addresses.
func (p *podAttack) listening(t *testing.T) (all []netip.AddrPort) {
	t.Helper()
	for _, network := range strings.Split(p.run(t, "docker", "exec", p.node, "sh", "-c", socketsScript), "network\n") {
		sockets, err := knocktest.Listening(network)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range ownAddress.FindAllStringSubmatch(network, -1) {
			address, err := netip.ParseAddr(found[1])
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sockets {
				if listens := s.Address.Addr(); !address.IsLoopback() && (listens == address || listens.IsUnspecified()) {
					all = append(all, netip.AddrPortFrom(address, s.Address.Port()))
				}
			}
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}

// onThisMachine are attacks on what is open on its loopback alone: the ways to pods, API servers and the cloud. From a
// pod the same ports are closed, at the address at which it reaches the links.
func (p *podAttack) onThisMachine(t *testing.T) (all []tried) {
	t.Helper()
	closed := says("a refused connection", func(error) bool { return true }, "connection refused")
	loopback := append(p.opened(t), p.published(t)...)
	for _, port := range loopback {
		conn, err := net.Dial("tcp", at("127.0.0.1", port))
		if err != nil {
			t.Errorf("nobody listens on this machine's loopback: %v", err)
			continue
		}
		_ = conn.Close() // it was there
		all = append(all, tried{fmt.Sprintf("connect to port %d of this machine", port),
			knocktest.Attempt{Address: at(p.host.String(), port), TLS: &knocktest.TLS{}}, closed})
	}
	return all
}

// opened are the ports of the loopback on which the run listens, ways to pods. On another address it has links alone.
func (p *podAttack) opened(t *testing.T) (ways []int) {
	t.Helper()
	links := map[string]bool{}
	for _, link := range p.state.Links {
		links[addressOf(link.URL)] = true
	}
	for _, socket := range socketsOf(t, p.state.Supervisor.PID) {
		switch address := socket.Address; {
		case address.Addr().IsLoopback():
			ways = append(ways, int(address.Port()))
		case !links[address.String()]:
			t.Errorf("the run listens at %s, and it is none of its links", address)
		}
	}
	if len(ways) == 0 {
		t.Error("the run has opened no way to a pod")
	}
	return ways
}

// socketsOf a process that listen.
func socketsOf(t *testing.T, pid int) []knocktest.Socket {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is right
	own := map[string]bool{}
	for _, file := range files {
		target, _ := os.Readlink(file) // it may be closed by now
		own[target] = true
	}
	return slices.DeleteFunc(networkOf(t, pid), func(s knocktest.Socket) bool { return !own["socket:["+s.Inode+"]"] })
}

// networkOf a process: all sockets in it that listen.
func networkOf(t *testing.T, pid int) []knocktest.Socket {
	t.Helper()
	var tables bytes.Buffer
	for _, table := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			t.Fatal(err)
		}
		tables.Write(content)
	}
	all, err := knocktest.Listening(tables.String())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// published are the ports of the loopback that lead to containers of the landscape.
func (p *podAttack) published(t *testing.T) (ports []int) {
	t.Helper()
	for _, name := range []string{"garden-control-plane", "a-control-plane", "b-control-plane", "cloud", "nodes"} {
		for line := range strings.Lines(p.run(t, "docker", "port", p.prefix+name)) {
			inside, outside, _ := strings.Cut(strings.TrimSpace(line), " -> ")
			address, err := netip.ParseAddrPort(outside)
			if err != nil || !address.Addr().IsLoopback() {
				t.Errorf("container %s is published at %q, want the loopback: %v", name, outside, err)
			}
			if strings.HasSuffix(inside, "/tcp") {
				ports = append(ports, int(address.Port()))
			}
		}
	}
	if len(ports) != 5 { // three API servers, the cloud's API and its DNS
		t.Errorf("%d ports are published, want 5: %v", len(ports), ports)
	}
	return ports
}
