package program

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The folder of a landscape may have a longer path than a socket: both programs name it by a path in that folder.
func TestEtcd_LongFolder_APIServerReachesItsSocket(t *testing.T) {
	t.Parallel()
	c := Cluster{Name: "a", Dir: filepath.Join("/", strings.Repeat("long", 50)), Address: netip.MustParseAddr("127.0.0.9")}
	etcd, server := c.Etcd(), c.APIServer()
	if etcd.Dir != c.Dir || server.Dir != c.Dir {
		t.Errorf("etcd runs in %q, the API server in %q, want %q", etcd.Dir, server.Dir, c.Dir)
	}
	if listen := "--listen-client-urls=https://127.0.0.9:2379,unix://run/etcd.sock"; !slices.Contains(etcd.Args, listen) {
		t.Errorf("no flag %s of etcd: %q", listen, etcd.Args)
	}
	if servers := "--etcd-servers=unix://run/etcd.sock"; !slices.Contains(server.Args, servers) {
		t.Errorf("no flag %s of the API server: %q", servers, server.Args)
	}
}
