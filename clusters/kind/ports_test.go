package kind

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The kernel gives none of the ports to a connection, and no port is held twice.
func TestHoldPort(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skipf("this is no Linux: %v", err)
	}
	fields := strings.Fields(string(content))
	first, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	held := map[int]bool{}
	for range 50 {
		listener, err := holdPort()
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		port := listener.Addr().(*net.TCPAddr).Port
		if quiet, count := quietPorts(); held[port] || port < quiet || port >= quiet+count || first > 2024 && port >= first {
			t.Errorf("port %d, of which the kernel gives %s; held before: %t", port, strings.Join(fields, " to "), held[port])
		}
		held[port] = true
	}
}
