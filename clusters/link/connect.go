package link

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// connectTimeout bounds how long a client may take to say where it wants to go.
const connectTimeout = 30 * time.Second

// maxHead bounds what a client may say before it is let in, in bytes.
const maxHead = 64 << 10

// take answers one client of the proxy.
func (p *Proxy) take(socket net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = socket.Close()
		return
	}
	p.callers[socket] = struct{}{}
	p.calls.Go(func() { p.answer(socket) })
}

// answer reads what the client wants and brings it to the link of its host.
func (p *Proxy) answer(socket net.Conn) {
	var read bytes.Buffer
	reader := bufio.NewReader(io.TeeReader(io.LimitReader(socket, maxHead), &read))
	_ = socket.SetReadDeadline(time.Now().Add(connectTimeout)) // the deadline of a socket is real time
	request, err := http.ReadRequest(reader)
	_ = socket.SetReadDeadline(time.Time{})
	p.mu.Lock()
	delete(p.callers, socket)
	p.mu.Unlock()
	if err != nil {
		_ = socket.Close()
		return
	}
	host, _, err := net.SplitHostPort(request.Host)
	switch {
	case request.Method != http.MethodConnect:
		refuse(socket, http.StatusMethodNotAllowed, p.name+": this is a proxy for CONNECT only")
	case err != nil:
		refuse(socket, http.StatusBadRequest, fmt.Sprintf("%s: read the target of CONNECT: %v", p.name, err))
	case isAddress(normal(host)):
		refuse(socket, http.StatusForbidden, fmt.Sprintf("%s: %s is an address; give the name of a shoot", p.name, host))
	default:
		h, err := p.visit(host)
		if err != nil {
			refuse(socket, http.StatusServiceUnavailable, fmt.Sprintf("%s: %v", p.name, err))
			return
		}
		defer p.leave(h)
		head := read.Len() - reader.Buffered()
		h.connect(socket, io.MultiReader(&read, socket), head, request.Host)
	}
}

// connect takes in a client of the proxy. Its CONNECT, which had to be read to know the link, comes again as the first
// head bytes of source, so that faults of the link hold it back like all the rest.
func (l *Link) connect(socket net.Conn, source io.Reader, head int, target string) {
	if cut := l.traffic.plan.Load().find(refuses); cut != nil {
		cut.wire.Hit()
		refuse(socket, http.StatusBadGateway, l.name+": connection refused")
		return
	}
	c := l.traffic.admit(socket)
	if c == nil {
		return
	}
	c.SetConnect(source, target)
	if _, err := io.CopyN(io.Discard, c, int64(head)); err != nil {
		c.Kill()
		return
	}
	if err := l.resolve(c); err != nil {
		refuse(c, http.StatusBadGateway, fmt.Sprintf("%s: %v", l.name, err))
		return
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.Kill()
		return
	}
	l.inlet.Put(c)
}

// resolve looks the host up for a connection, as long as that is there.
func (l *Link) resolve(c *wire.Conn) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.Gone():
			cancel()
		case <-ctx.Done():
		}
	}()
	return l.upstream.Resolve(ctx)
}

// connectTarget sends a request where the CONNECT of its connection said.
func connectTarget(r *http.Request) (scheme, host string) {
	if c := wire.FromContext(r.Context()); c != nil {
		host = c.Target()
	}
	return "https", host
}

// refuse answers a CONNECT with an error. Clients show the status line, so that says it all.
func refuse(to net.Conn, status int, text string) {
	line := strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
	_, _ = fmt.Fprintf(to,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s\n",
		status, line, len(text)+1, text)
	_ = to.Close()
}

// isAddress says whether a host is no name. A client that chose the address could reach whatever this machine reaches.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// normal is a host name as links know it.
func normal(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func hash(host string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, host)
	return h.Sum64()
}
