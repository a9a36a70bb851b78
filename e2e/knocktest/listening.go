package knocktest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Socket is one that listens.
type Socket struct {
	Address netip.AddrPort
	Inode   string // "socket:[<inode>]" is what /proc/<pid>/fd shows of it
}

// stateListen of a socket in /proc/net/tcp.
const stateListen = "0A"

// Listening reads the sockets that listen from tables as /proc/<pid>/net/tcp and tcp6 are, one after the other.
func Listening(tables string) (all []Socket, err error) {
	for line := range strings.Lines(tables) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != stateListen {
			continue
		}
		address, err := local(fields[1])
		if err != nil {
			return nil, err
		}
		all = append(all, Socket{Address: address, Inode: fields[9]})
	}
	return all, nil
}

// local reads "0100007F:18EB": the address is in words of the machine's byte order.
func local(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err == nil && len(raw)%4 == 0 {
		for i := 0; i < len(raw); i += 4 {
			binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
		}
		address, is := netip.AddrFromSlice(raw)
		number, err := strconv.ParseUint(port, 16, 16)
		if is && err == nil {
			return netip.AddrPortFrom(address.Unmap(), uint16(number)), nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("read the address of a socket %q", text)
}
