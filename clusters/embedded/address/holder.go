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

// holders names the processes that hold an endpoint, as far as this user may see them.
func holders(endpoint Endpoint) []string {
	var found []string
	for _, table := range []string{"/proc/net/" + endpoint.Network, "/proc/net/" + endpoint.Network + "6"} {
		for _, inode := range inodes(table, endpoint) {
			found = append(found, owners(inode)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// inodes lists the sockets of a table that clash with the endpoint: same port, and the same or every address.
func inodes(table string, endpoint Endpoint) []string {
	file, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer file.Close()
	var found []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || (endpoint.Network == "tcp" && fields[3] != tcpListen) {
			continue
		}
		local, err := parseLocal(fields[1])
		if err != nil || local.Port() != endpoint.Port() {
			continue
		}
		if local.Addr().IsUnspecified() || local.Addr().Unmap() == endpoint.Addr() {
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
