package address

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tcpListen is the state of a listening socket in /proc/net/tcp.
const tcpListen = "0A"

// PortHolders names the processes that listen at a TCP port of any address, as far as this user may see them.
func PortHolders(port int) []string {
	return holdersOf("tcp", func(local netip.AddrPort) bool { return int(local.Port()) == port })
}

// holders names the processes that hold an endpoint, as far as this user may see them: those of sockets with the same
// port, and the same or every address.
func holders(endpoint Endpoint) []string {
	return holdersOf(endpoint.Network, func(local netip.AddrPort) bool {
		return local.Port() == endpoint.Port() &&
			(local.Addr().IsUnspecified() || local.Addr().Unmap() == endpoint.Addr())
	})
}

func holdersOf(network string, clashes func(local netip.AddrPort) bool) []string {
	var found []string
	for _, table := range []string{"/proc/net/" + network, "/proc/net/" + network + "6"} {
		for _, inode := range inodes(table, network, clashes) {
			found = append(found, owners(inode)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// inodes lists the sockets of a table whose addresses clash. Of TCP, those that listen.
func inodes(table, network string, clashes func(local netip.AddrPort) bool) []string {
	file, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer file.Close()
	var found []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || (network == "tcp" && fields[3] != tcpListen) {
			continue
		}
		local, err := parseLocal(fields[1])
		if err == nil && clashes(local) {
			found = append(found, fields[9])
		}
	}
	return found
}

// parseLocal reads "0100007F:18EB": the address in words of the machine's byte order (little on all we run on).
func parseLocal(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("parse the socket address %q", text)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	address, ok := netip.AddrFromSlice(raw)
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, fmt.Errorf("parse the socket address %q", text)
	}
	return netip.AddrPortFrom(address, uint16(number)), nil
}

// owners finds the processes with the socket open.
func owners(inode string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != "socket:["+inode+"]" {
			continue
		}
		pid := strings.Split(link, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		found = append(found, fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(string(name))))
	}
	return found
}
