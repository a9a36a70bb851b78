package gateway

import (
	"io"
	"net"
	"sync"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// chunk is the size in which bytes are passed, and at which validity is checked.
const chunk = 32 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// join passes bytes both ways. When one side has ended its half, the other is told and may still answer; when one
// breaks, both are closed.
func join(a, b *ownership.Conn) {
	var both sync.WaitGroup
	both.Go(func() { pass(b, a) })
	both.Go(func() { pass(a, b) })
	both.Wait()
}

// pass copies in chunks: each is written only if the term is valid at that moment.
func pass(to, from *ownership.Conn) {
	buffer := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buffer)
	// The plain interfaces keep io.CopyBuffer from a shortcut that would leave the checks out.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buffer[:])
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
