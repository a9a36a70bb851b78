package gateway

import (
	"io"
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// chunk is the size in which bytes are passed, and at which validity is checked.
const chunk = 32 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// join passes bytes both ways. When one side has ended its half, the other sees its end and may still answer; when one
// breaks, both are closed.
func join(client, server *validity.Conn, m *metrics) {
	var both sync.WaitGroup
	both.Go(func() { pass(server, client, m.toServer) })
	both.Go(func() { pass(client, server, m.toClient) })
	both.Wait()
}

// pass copies in chunks: each is written only if the term is valid at that moment.
func pass(to, from *validity.Conn, bytes prometheus.Counter) {
	buffer := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buffer)
	// The plain interfaces keep io.CopyBuffer from a shortcut that would leave the checks out.
	_, err := io.CopyBuffer(counted{to, bytes}, struct{ io.Reader }{from}, buffer[:])
	if err == nil {
		err = closeWrite(to.Conn)
	}
	if err != nil {
		closeBoth(to, from)
	}
}

func closeBoth(conns ...net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}
