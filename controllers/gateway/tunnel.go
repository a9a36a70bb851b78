package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	proxyproto "github.com/pires/go-proxyproto"
	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// destinationHeaders name the Service a CONNECT wants, as "outbound|<port>||<service>.<namespace>.svc.cluster.local".
// The second is the older one, of the reversed tunnel's own port.
var destinationHeaders = []string{"X-Gardener-Destination", "Reversed-VPN"}

const clusterDomain = ".svc.cluster.local"

var (
	established = []byte("HTTP/1.1 200 Connection established\r\n\r\n")
	notFound    = []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
)

// newTunnelServer takes HTTP CONNECT and chooses by its header: port 8132.
func newTunnelServer(table *table, services corelisters.ServiceLister, log logr.Logger) *server {
	t := &tunnels{table: table, services: services}
	return &server{table: table, log: log.WithValues("port", portTunnel), port: portTunnel, choose: t.byHeader,
		refuse: notFound}
}

// newProxyServer takes connections with a PROXY protocol header and chooses by the destination in it; and, as the
// unified port of today, HTTP CONNECT too: port 8443.
func newProxyServer(table *table, services corelisters.ServiceLister, log logr.Logger) *server {
	t := &tunnels{table: table, services: services}
	return &server{table: table, log: log.WithValues("port", portProxy), port: portProxy, choose: t.byProxyProtocol,
		refuse: notFound}
}

// tunnels finds the Service that a client wants by other ways than the name in a ClientHello.
type tunnels struct {
	table    *table
	services corelisters.ServiceLister
}

// byProxyProtocol chooses by the authority in the header, else by its destination address.
func (t *tunnels) byProxyProtocol(conn net.Conn) (call, error) {
	in := bufio.NewReader(io.LimitReader(conn, maxHello))
	header, err := proxyproto.Read(in)
	if errors.Is(err, proxyproto.ErrNoProxyProtocol) {
		return t.connect(conn, in)
	}
	if err != nil {
		return call{}, fmt.Errorf("read the PROXY header: %w", err)
	}
	client, err := rest(conn, in)
	if err != nil {
		return call{}, err
	}
	route, what := t.destination(header)
	if route == nil {
		return call{}, &refusedError{what: what}
	}
	return call{route: route, address: route.address, client: client}, nil
}

func (t *tunnels) destination(header *proxyproto.Header) (*route, string) {
	tlvs, err := header.TLVs()
	if err == nil {
		for _, tlv := range tlvs {
			if tlv.Type == proxyproto.PP2_TYPE_AUTHORITY {
				return t.table.byHost(string(tlv.Value)), string(tlv.Value)
			}
		}
	}
	_, ip, ok := header.IPs()
	if !ok {
		return nil, "a PROXY header without a destination"
	}
	return t.table.byIP(ip), ip.String()
}

// byHeader reads an HTTP CONNECT.
func (t *tunnels) byHeader(conn net.Conn) (call, error) {
	return t.connect(conn, bufio.NewReader(io.LimitReader(conn, maxHello)))
}

func (t *tunnels) connect(conn net.Conn, in *bufio.Reader) (call, error) {
	request, err := http.ReadRequest(in)
	if err != nil {
		return call{}, fmt.Errorf("read the CONNECT: %w", err)
	}
	if request.Method != http.MethodConnect {
		return call{}, &refusedError{what: "method " + request.Method}
	}
	client, err := rest(conn, in)
	if err != nil {
		return call{}, err
	}
	for _, header := range destinationHeaders {
		if wanted := request.Header.Get(header); wanted != "" {
			route, address := t.service(wanted)
			if route == nil {
				return call{}, &refusedError{what: wanted}
			}
			return call{route: route, address: address, client: client, welcome: established}, nil
		}
	}
	return call{}, &refusedError{what: "a CONNECT without a destination header"}
}

// service finds a Service of a shoot's namespace by the header's value. Nothing else of the seed can be reached so.
func (t *tunnels) service(wanted string) (*route, string) {
	parts := strings.Split(wanted, "|")
	if len(parts) != 4 || parts[0] != "outbound" {
		return nil, ""
	}
	host, found := strings.CutSuffix(parts[3], clusterDomain)
	name, namespace, two := strings.Cut(host, ".")
	route := t.table.byNamespace(namespace)
	if !found || !two || route == nil {
		return nil, ""
	}
	service, err := t.services.Services(namespace).Get(name)
	if err != nil || net.ParseIP(service.Spec.ClusterIP) == nil {
		return nil, ""
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return strconv.Itoa(int(p.Port)) == parts[1]
	}) {
		return nil, ""
	}
	return route, net.JoinHostPort(service.Spec.ClusterIP, parts[1])
}

// rest is the connection behind what a reader has taken of it.
func rest(conn net.Conn, in *bufio.Reader) (net.Conn, error) {
	ahead, err := in.Peek(in.Buffered())
	if err != nil {
		return nil, fmt.Errorf("read on behind the header: %w", err)
	}
	return &peekedConn{Conn: conn, rest: io.MultiReader(strings.NewReader(string(ahead)), conn)}, nil
}
