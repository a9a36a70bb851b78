package kind

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The kernel gives none of the ports to a connection, and no port is found twice.
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
	seen := map[int]bool{}
	for range 50 {
		listener, err := holdPort()
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		port := listener.Addr().(*net.TCPAddr).Port
		if quiet, count := quietPorts(); seen[port] || port < quiet || port >= quiet+count || first > 2024 && port >= first {
			t.Errorf("port %d, of which the kernel gives %s; found before: %t", port, strings.Join(fields, " to "), seen[port])
		}
		seen[port] = true
	}
}
