// Package knocktest asks servers that should refuse, and says in which way they do. Attempts and outcomes are plain
// data: a test makes an attempt in its own process, or has the program e2e/attacker make it in a pod.
//
// It is no client for anything else: it verifies no server, and does not try again.
package knocktest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// patience bounds each part of an attempt.
	patience = 10 * time.Second
	// alertPatience is how long an alert is waited for, before what was not refused goes on.
	alertPatience = 2 * time.Second
	// shownBody of an answer, in bytes.
	shownBody = 4 << 10
)

// Attempt is one request to one server.
type Attempt struct {
	// Address is the server's, as host:port.
	Address string
	// Tunnel is asked for first, if there is one; TLS and the request go through it.
	Tunnel *Tunnel
	// TLS is nil for a plain connection.
	TLS *TLS
	// Method and Path of the request. Without a method nothing is asked of a server that lets the client in.
	Method, Path string
	// Token is a bearer token.
	Token string
	// Record is the name of a DNS record. If it is set, the attempt is an update of this record over DNS.
	Record string
}

// Tunnel is what HTTP CONNECT asks for.
type Tunnel struct {
	Target string // host:port
	Header http.Header
}

// TLS is the client's side of a connection.
type TLS struct {
	ServerName string
	Protocols  []string // of ALPN; none are offered if there are none
	// Certificate and Key, in PEM, are empty for a client without a certificate.
	Certificate, Key []byte
	// Forged certificates are shown whichever authorities the server accepts.
	Forged bool
}

func (t *TLS) config() (*tls.Config, error) {
	config := &tls.Config{ServerName: t.ServerName, NextProtos: t.Protocols}
	config.InsecureSkipVerify = true // an attacker does not mind
	if len(t.Certificate) == 0 {
		return config, nil
	}
	pair, err := tls.X509KeyPair(t.Certificate, t.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	if t.Forged {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

// Outcome of an attempt. The zero value says that the server has let the client in.
type Outcome struct {
	Alert  string // of TLS, by which the server has refused the connection
	Status int    // of the HTTP answer
	Body   string // the beginning of the answer
	Failed string // anything else that has ended the attempt
}

// AlertError is a TLS alert of the server.
type AlertError struct{ Text string }

func (e *AlertError) Error() string { return "remote error: " + e.Text }

// StatusError is an HTTP answer that is not the one of somebody who is let in.
type StatusError struct {
	Code int
	Body string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Body) }

// Err is nil if the client was let in, an AlertError or a StatusError if it was refused, or else what has failed.
func (o Outcome) Err() error {
	switch {
	case o.Alert != "":
		return &AlertError{o.Alert}
	case o.Failed != "":
		return errors.New(o.Failed)
	case o.Status >= http.StatusBadRequest:
		return &StatusError{o.Status, o.Body}
	}
	return nil
}

// Make the attempt, in this goroutine alone if the address is no name.
func (a Attempt) Make() Outcome {
	var outcome Outcome
	var err error
	if a.Record != "" {
		err = a.update()
	} else {
		outcome, err = a.ask()
	}
	if remote, is := errors.AsType[*net.OpError](err); is && remote.Op == "remote error" &&
		strings.HasPrefix(remote.Err.Error(), "tls: ") {
		return Outcome{Alert: remote.Err.Error()}
	}
	if err != nil {
		return Outcome{Failed: err.Error()}
	}
	return outcome
}

func (a Attempt) ask() (Outcome, error) {
	conn, err := net.DialTimeout("tcp", a.Address, patience)
	if err != nil {
		return Outcome{}, err
	}
	defer conn.Close()
	if a.Tunnel != nil {
		if refused, err := a.Tunnel.open(conn); err != nil || refused.Status != http.StatusOK {
			return refused, err
		}
	}
	if a.TLS != nil {
		config, err := a.TLS.config()
		if err != nil {
			return Outcome{}, err
		}
		secure := tls.Client(conn, config)
		// A server that speaks first, as one of HTTP/2 does, has let the client in.
		if spoken, err := enter(secure); err != nil || spoken {
			return Outcome{}, err
		}
		conn = secure
	}
	if a.Method == "" {
		return Outcome{}, nil
	}
	request, err := http.NewRequest(a.Method, "https://"+a.Address+a.Path, nil)
	if err != nil {
		return Outcome{}, err
	}
	if a.Token != "" {
		request.Header.Set("Authorization", "Bearer "+a.Token)
	}
	return exchange(conn, bufio.NewReader(conn), request)
}

// enter a server by TLS, and say whether it has spoken since. One of TLS 1.3 refuses a certificate after the client's
// handshake.
func enter(conn *tls.Conn) (spoken bool, err error) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return false, err
	}
	if err := conn.Handshake(); err != nil {
		return false, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(alertPatience)); err != nil {
		return false, err
	}
	_, err = conn.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// open the tunnel. The status is 200 if there is one.
func (t *Tunnel) open(conn net.Conn) (Outcome, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: t.Target}, Host: t.Target,
		Header: t.Header.Clone()}
	// Behind the answer comes nothing before the client's first message: the reader takes no more than the answer.
	return exchange(conn, bufio.NewReader(conn), request)
}

func exchange(conn net.Conn, reader *bufio.Reader, request *http.Request) (Outcome, error) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return Outcome{}, err
	}
	if err := request.Write(conn); err != nil {
		return Outcome{}, err
	}
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return Outcome{}, err
	}
	defer response.Body.Close()
	outcome := Outcome{Status: response.StatusCode}
	if request.Method == http.MethodConnect && response.StatusCode == http.StatusOK {
		return outcome, nil // what follows is no body
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, shownBody))
	outcome.Body = string(body)
	return outcome, err
}

// update the record over DNS.
func (a Attempt) update() error {
	labels := strings.SplitN(a.Record, ".", 4) // the name, its shoot and project, and the zone
	if len(labels) != 4 {
		return fmt.Errorf("find the zone of the record %q: it has too few labels", a.Record)
	}
	message, record := &dns.Msg{}, &dns.TXT{Txt: []string{"owner=somebody epoch=99 seed=a"}}
	record.Hdr = dns.RR_Header{Name: dns.Fqdn(a.Record), Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 1}
	message.SetUpdate(dns.Fqdn(labels[3]))
	message.Insert([]dns.RR{record})
	answer, _, err := (&dns.Client{Timeout: patience}).Exchange(message, a.Address)
	if err == nil && answer.Rcode != dns.RcodeSuccess {
		err = errors.New("the DNS server answers " + dns.RcodeToString[answer.Rcode])
	}
	return err
}
