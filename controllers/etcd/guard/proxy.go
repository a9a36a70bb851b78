package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // etcd's clients may compress
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// etcdMinPing is etcd's own limit of how often a client may ping.
const etcdMinPing = 5 * time.Second

// Proxy passes gRPC between clients and etcd's socket, while its guard is valid.
type Proxy struct {
	guard  *validity.Guard
	clock  ownership.Clock
	socket string
	server *grpc.Server
	conns  connections
	messages

	mu      sync.Mutex
	backend *backend
}

// backend is the connection to etcd of one term.
type backend struct {
	term *validity.Term
	conn *grpc.ClientConn
}

// NewProxy returns a proxy to etcd's unix socket. tlsConfig is that of the server; nil serves plain text.
func NewProxy(guard *validity.Guard, clock ownership.Clock, socket string, tlsConfig *tls.Config) *Proxy {
	p := &Proxy{guard: guard, clock: clock, socket: socket}
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(p.handle),
		grpc.MaxRecvMsgSize(math.MaxInt32), // etcd has its own limits
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(math.MaxUint32),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: etcdMinPing, PermitWithoutStream: true}),
	}
	if tlsConfig != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(tlsConfig)))
	}
	p.server = grpc.NewServer(options...)
	return p
}

// Serve passes what comes to the listener until Stop.
func (p *Proxy) Serve(listener net.Listener) error {
	err := p.server.Serve(newTermListener(listener, p.guard, p.clock, &p.conns))
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// Stop closes everything.
func (p *Proxy) Stop() {
	p.server.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.backend != nil {
		p.backend.conn.Close()
	}
}

// etcd returns the connection of the term. Each term has its own, so that nothing which an earlier one had in its
// buffers is sent under a later one.
func (p *Proxy) etcd(term *validity.Term) (*grpc.ClientConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.backend != nil && p.backend.term == term {
		return p.backend.conn, nil
	}
	conn, err := grpc.NewClient("passthrough:///etcd",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(math.MaxInt32),
			grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "unix", p.socket)
			if err != nil {
				return nil, err
			}
			return &validity.Conn{Conn: conn, Term: term}, nil
		}),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second, Backoff: quickBackoff}),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %q: %w", p.socket, err)
	}
	if p.backend != nil {
		p.backend.conn.Close()
	}
	p.backend = &backend{term: term, conn: conn}
	go func() {
		<-term.Done()
		conn.Close()
	}()
	return conn, nil
}

var errLapsed = status.Error(codes.Unavailable, "etcd-guard: "+validity.ErrLapsed.Error())

// handle passes one stream; a unary call is a stream of one message each way.
func (p *Proxy) handle(_ any, in grpc.ServerStream) error {
	method, ok := grpc.MethodFromServerStream(in)
	if !ok {
		return status.Error(codes.Internal, "etcd-guard: the stream has no method")
	}
	term := p.guard.Term()
	if !term.Valid() {
		p.refuse()
		return errLapsed
	}
	etcd, err := p.etcd(term)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	if sent, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, sent.Copy())
	}
	out, err := etcd.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go p.passRequests(term, in, out, cancel)
	return p.passAnswers(term, in, out)
}

// passRequests ends the stream to etcd when the client does, and breaks it when a message must not pass.
func (p *Proxy) passRequests(term *validity.Term, in grpc.ServerStream, out grpc.ClientStream,
	cancel context.CancelFunc) {
	for {
		var message frame
		if err := in.RecvMsg(&message); err != nil {
			if errors.Is(err, io.EOF) {
				err = out.CloseSend()
			}
			if err != nil {
				cancel()
			}
			return
		}
		if !term.Valid() {
			p.refuse()
			message.data.Free()
			cancel()
			return
		}
		p.request()
		if err := out.SendMsg(&message); err != nil {
			return // the reason comes with the answers
		}
	}
}

func (p *Proxy) passAnswers(term *validity.Term, in grpc.ServerStream, out grpc.ClientStream) error {
	header, err := out.Header()
	if err == nil && term.Valid() {
		err = in.SendHeader(header)
	}
	for err == nil {
		var message frame
		if err = out.RecvMsg(&message); err != nil {
			break
		}
		if !term.Valid() {
			p.refuse()
			message.data.Free()
			return errLapsed
		}
		p.answer()
		err = in.SendMsg(&message)
	}
	if !term.Valid() {
		return errLapsed
	}
	in.SetTrailer(out.Trailer())
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
