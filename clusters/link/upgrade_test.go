package link_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/transplant-sim/transplant/clusters/link"
)

// shouting is a handler that accepts any upgrade and answers each line in capitals.
func shouting(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 || r.Header.Get("Upgrade") == "" {
		http.Error(w, "an upgrade over "+r.Proto+" was expected", http.StatusBadRequest)
		return
	}
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		r.Header.Get("Upgrade"))
	for {
		line, err := buffered.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, strings.ToUpper(line))
	}
}

// upgraded opens a connection that has been upgraded to SPDY/3.1, as older kubectl execs do.
func upgraded(t *testing.T, w *world, l *link.Link) (net.Conn, *bufio.Reader) {
	t.Helper()
	address := strings.TrimPrefix(l.URL(), "https://")
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: w.ca.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = fmt.Fprintf(conn,
		"POST /exec?command=sh HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Upgrade") != "SPDY/3.1" {
		t.Fatalf("got %s with %v, want an upgrade", response.Status, response.Header)
	}
	return conn, reader
}

func expectShout(t *testing.T, conn net.Conn, reader *bufio.Reader, line string) {
	t.Helper()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := reader.ReadString('\n'); err != nil || got != strings.ToUpper(line)+"\n" {
		t.Fatalf("got %q and error %v", got, err)
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(shouting))
	l := w.link(t, link.Options{})
	conn, reader := upgraded(t, w, l)
	expectShout(t, conn, reader, "first")
	expectShout(t, conn, reader, strings.Repeat("long", 100_000))
	_ = conn.Close()
	eventually(t, "the connection is gone", func() bool { return l.Stats().OpenConnections == 0 })
}

func TestRefusedUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "pods \"x\" is forbidden", http.StatusForbidden)
	}))
	l := w.link(t, link.Options{})
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: w.ca.Pool()}}
	_, response, err := dialer.Dial(strings.Replace(l.URL(), "https", "wss", 1)+"/exec", nil)
	if !errors.Is(err, websocket.ErrBadHandshake) || response.StatusCode != http.StatusForbidden {
		t.Fatalf("got %v and %v, want the server's refusal", response, err)
	}
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil {
				return
			}
			_ = conn.WriteMessage(kind, message)
		}
	}))
	l := w.link(t, link.Options{})
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: w.ca.Pool()},
		Subprotocols: []string{"v5.channel.k8s.io"}}
	conn, _, err := dialer.Dial(strings.Replace(l.URL(), "https", "wss", 1)+"/exec", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.Subprotocol() != "v5.channel.k8s.io" {
		t.Errorf("got the subprotocol %q", conn.Subprotocol())
	}
	for _, size := range []int{1, 100, 1 << 20} {
		message := random(size)
		if err := conn.WriteMessage(websocket.BinaryMessage, message); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if kind, got, err := conn.ReadMessage(); err != nil || kind != websocket.BinaryMessage || !bytes.Equal(got, message) {
			t.Fatalf("message of %d bytes came back as %d bytes of kind %d, %v", size, len(got), kind, err)
		}
	}
}

// grpcServer answers unary calls and streams, with headers and trailers.
type grpcServer struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (grpcServer) UnaryCall(ctx context.Context, r *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	if s := r.GetResponseStatus(); s != nil {
		return nil, status.Error(codes.Code(s.GetCode()), s.GetMessage())
	}
	_ = grpc.SetTrailer(ctx, metadata.Pairs("x-sum", "42"))
	return &grpc_testing.SimpleResponse{Payload: r.GetPayload()}, nil
}

func (grpcServer) FullDuplexCall(s grpc_testing.TestService_FullDuplexCallServer) error {
	for {
		request, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(&grpc_testing.StreamingOutputCallResponse{Payload: request.GetPayload()}); err != nil {
			return err
		}
	}
}

func grpcClient(t *testing.T) grpc_testing.TestServiceClient {
	t.Helper()
	w := newWorld(t, answer(1))
	certificate, err := w.ca.IssueServing("127.0.0.1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(certificate)), grpc.MaxRecvMsgSize(2*big))
	grpc_testing.RegisterTestServiceServer(server, grpcServer{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	l := w.linkTo(t, "https://"+listener.Addr().String())
	conn, err := grpc.NewClient(strings.TrimPrefix(l, "https://"),
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: w.ca.Pool()})),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*big)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return grpc_testing.NewTestServiceClient(conn)
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	client := grpcClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	payload := &grpc_testing.Payload{Body: random(big)}

	var trailer metadata.MD
	got, err := client.UnaryCall(ctx, &grpc_testing.SimpleRequest{Payload: payload}, grpc.Trailer(&trailer))
	if err != nil || !bytes.Equal(got.GetPayload().GetBody(), payload.GetBody()) {
		t.Fatalf("unary call returned %d bytes, %v", len(got.GetPayload().GetBody()), err)
	}
	if sum := trailer.Get("x-sum"); len(sum) != 1 || sum[0] != "42" {
		t.Errorf("got the trailer %v", trailer)
	}

	refused := &grpc_testing.EchoStatus{Code: int32(codes.FailedPrecondition), Message: "not the owner: ünicode"}
	_, err = client.UnaryCall(ctx, &grpc_testing.SimpleRequest{ResponseStatus: refused})
	if s := status.Convert(err); s.Code() != codes.FailedPrecondition || s.Message() != refused.Message {
		t.Errorf("got the status %v", err)
	}

	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 100_000, 1} { // each answer comes before the next request
		if err := stream.Send(&grpc_testing.StreamingOutputCallRequest{
			Payload: &grpc_testing.Payload{Body: random(size)}}); err != nil {
			t.Fatal(err)
		}
		if got, err := stream.Recv(); err != nil || len(got.GetPayload().GetBody()) != size {
			t.Fatalf("stream returned %d bytes, %v", len(got.GetPayload().GetBody()), err)
		}
	}
	_ = stream.CloseSend()
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
}
