package kind

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
)

// quietPorts are ports that Linux gives to no connection by itself. Between the choice of a port and the start of its
// container, and while a node is away, it is nobody's: a connection that had got it meanwhile would keep the container
// from starting. Where the range for connections leaves hardly any, on machines that were tuned so, or is not known,
// they are those below its default.
func quietPorts() (first, count int) {
	const fewest, most, privileged, usual = 1000, 12768, 1024, 32768
	low := 0
	if content, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(content), &low)
	}
	if low < privileged+fewest {
		low = usual
	}
	first = max(privileged, low-most)
	return first, low - first
}

// holdPort listens on a free port of this machine, so that it is chosen once. Which one is no part of a scenario, so
// it does not follow the scenario's random seed.
func holdPort() (net.Listener, error) {
	first, count := quietPorts()
	var last error
	for range 100 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count)))
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, last
}
