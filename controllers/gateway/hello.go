package gateway

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// maxHello bounds what is read of a connection before its name is known. Clients with post-quantum key shares send
// about 2 KiB.
const maxHello = 64 << 10

// errNoName says that a client named no server.
var errNoName = errors.New("the client names no server")

// unrecognizedName is the TLS alert for a name that is not served here (RFC 6066).
var unrecognizedName = []byte{21, 3, 3, 0, 2, 2, 112}

// peekName reads a TLS ClientHello and returns the server name in it, and the connection as it was before.
func peekName(conn net.Conn) (string, net.Conn, error) {
	seen := &bytes.Buffer{}
	name := ""
	stop := errors.New("seen enough")
	err := tls.Server(readOnly{io.TeeReader(io.LimitReader(conn, maxHello), seen)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, stop
		},
	}).Handshake()
	if !errors.Is(err, stop) {
		return "", nil, fmt.Errorf("read the client's hello: %w", err)
	}
	if name == "" {
		return "", nil, errNoName
	}
	return name, &peekedConn{Conn: conn, rest: io.MultiReader(seen, conn)}, nil
}

// readOnly is a connection that swallows what is written: the TLS library must not answer the client.
type readOnly struct{ io.Reader }

var _ net.Conn = readOnly{}

func (readOnly) Write(p []byte) (int, error)      { return len(p), nil }
func (readOnly) Close() error                     { return nil }
func (readOnly) LocalAddr() net.Addr              { return nil }
func (readOnly) RemoteAddr() net.Addr             { return nil }
func (readOnly) SetDeadline(time.Time) error      { return nil }
func (readOnly) SetReadDeadline(time.Time) error  { return nil }
func (readOnly) SetWriteDeadline(time.Time) error { return nil }

// peekedConn gives back what was read before.
type peekedConn struct {
	net.Conn
	rest io.Reader
}

// Read implements net.Conn.
func (p *peekedConn) Read(b []byte) (int, error) { return p.rest.Read(b) }

// CloseWrite ends the half of the connection that goes to the peer.
func (p *peekedConn) CloseWrite() error { return closeWrite(p.Conn) }

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}
