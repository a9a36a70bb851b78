package cloud

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// serveNames runs the DNS server on a port of both protocols and returns its address.
func serveNames(t *testing.T, handler dns.Handler) string {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.230.0.3:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []*dns.Server{{Listener: tcp, Handler: handler}, {PacketConn: udp, Handler: handler}} {
		ready := make(chan struct{})
		server.NotifyStartedFunc = func() { close(ready) }
		ended := make(chan error, 1)
		go func() { ended <- server.ActivateAndServe() }()
		<-ready
		t.Cleanup(func() {
			if err := errors.Join(server.Shutdown(), <-ended); err != nil {
				t.Error(err)
			}
		})
	}
	return tcp.Addr().String()
}

func ask(t *testing.T, network, server, name string, kind uint16) *dns.Msg {
	t.Helper()
	reply, _, err := (&dns.Client{Net: network, Timeout: time.Minute}).Exchange(new(dns.Msg).SetQuestion(name, kind),
		server)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestDNS(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	zone := must(client.Zones().Create(ctx, &api.Zone{Name: "transplant.test", NegativeTTL: 7}))(t)
	inner := must(client.Zones().Create(ctx, &api.Zone{Name: "inner.transplant.test"}))(t)
	for _, set := range []api.RecordSet{
		{Name: "api.alpha.transplant.test", Type: "A", TTL: 120, Values: []string{"127.17.192.1", "127.17.192.2"}},
		{Name: "api.alpha.transplant.test", Type: "AAAA", TTL: 60, Values: []string{"::1"}},
		{Name: "owner.alpha.transplant.test", Type: "TXT", TTL: 1, Values: []string{`owner=uid epoch=1 seed=a\b "q"`}},
		{Name: "alias.transplant.test", Type: "CNAME", TTL: 30, Values: []string{"api.alpha.transplant.test"}},
		{Name: "abroad.transplant.test", Type: "CNAME", TTL: 30, Values: []string{"www.example.test"}},
		{Name: "*.ingress.transplant.test", Type: "A", TTL: 9, Values: []string{"127.17.192.9"}},
		{Name: "loop.transplant.test", Type: "CNAME", TTL: 1, Values: []string{"loop.transplant.test"}},
	} {
		must(client.Records(zone.ID).Put(ctx, &set, api.If{}))(t)
	}
	must(client.Records(inner.ID).Put(ctx, &api.RecordSet{Name: "x.inner.transplant.test", Type: "A", TTL: 1,
		Values: []string{"127.0.0.3"}}, api.If{}))(t)
	server := serveNames(t, cloud.DNS())

	tests := []struct {
		name   string
		kind   uint16
		rcode  int
		answer []string // name, TTL, type and value of each record
		soa    bool
	}{
		{"api.alpha.transplant.test.", dns.TypeA, dns.RcodeSuccess, []string{"api.alpha.transplant.test. 120 A 127.17.192.1",
			"api.alpha.transplant.test. 120 A 127.17.192.2"}, false},
		{"API.Alpha.transplant.test.", dns.TypeAAAA, dns.RcodeSuccess, []string{"API.Alpha.transplant.test. 60 AAAA ::1"},
			false},
		{"owner.alpha.transplant.test.", dns.TypeTXT, dns.RcodeSuccess,
			[]string{`owner.alpha.transplant.test. 1 TXT "owner=uid epoch=1 seed=a\\b \"q\""`}, false},
		{"api.alpha.transplant.test.", dns.TypeTXT, dns.RcodeSuccess, nil, true},
		{"alpha.transplant.test.", dns.TypeA, dns.RcodeSuccess, nil, true}, // an empty name between two others
		{"nothing.transplant.test.", dns.TypeA, dns.RcodeNameError, nil, true},
		{"deep.below.nothing.transplant.test.", dns.TypeA, dns.RcodeNameError, nil, true},
		{"alias.transplant.test.", dns.TypeA, dns.RcodeSuccess,
			[]string{"alias.transplant.test. 30 CNAME api.alpha.transplant.test.",
				"api.alpha.transplant.test. 120 A 127.17.192.1", "api.alpha.transplant.test. 120 A 127.17.192.2"}, false},
		{"alias.transplant.test.", dns.TypeCNAME, dns.RcodeSuccess,
			[]string{"alias.transplant.test. 30 CNAME api.alpha.transplant.test."}, false},
		{"abroad.transplant.test.", dns.TypeA, dns.RcodeSuccess,
			[]string{"abroad.transplant.test. 30 CNAME www.example.test."}, false},
		{"x.y.ingress.transplant.test.", dns.TypeA, dns.RcodeSuccess,
			[]string{"x.y.ingress.transplant.test. 9 A 127.17.192.9"}, false},
		{"x.ingress.transplant.test.", dns.TypeTXT, dns.RcodeSuccess, nil, true},
		{"x.inner.transplant.test.", dns.TypeA, dns.RcodeSuccess, []string{"x.inner.transplant.test. 1 A 127.0.0.3"}, false},
		{"www.example.test.", dns.TypeA, dns.RcodeRefused, nil, false},
	}
	for _, network := range []string{"udp", "tcp"} {
		for _, test := range tests {
			t.Run(network+"/"+test.name+dns.TypeToString[test.kind], func(t *testing.T) {
				reply := ask(t, network, server, test.name, test.kind)
				var answer []string
				for _, record := range reply.Answer {
					fields := strings.SplitN(record.String(), "\t", 5) // name, TTL, class, type, value
					answer = append(answer, strings.Join(slices.Concat(fields[:2], fields[3:]), " "))
				}
				if diff := cmp.Diff(test.answer, answer); diff != "" || reply.Rcode != test.rcode {
					t.Errorf("answer %s: %s", dns.RcodeToString[reply.Rcode], diff)
				}
				if soa := len(reply.Ns) == 1 && reply.Ns[0].Header().Rrtype == dns.TypeSOA; soa != test.soa {
					t.Errorf("authority section is %v", reply.Ns)
				} else if soa && (reply.Ns[0].Header().Ttl != 7 || reply.Ns[0].(*dns.SOA).Minttl != 7) {
					t.Errorf("negative TTL is that of %v, want 7", reply.Ns[0])
				}
				if reply.Authoritative != (test.rcode != dns.RcodeRefused) {
					t.Errorf("authoritative is %v", reply.Authoritative)
				}
			})
		}
	}
	if loop := ask(t, "udp", server, "loop.transplant.test.", dns.TypeA); len(loop.Answer) > maxAliases {
		t.Errorf("a loop of aliases is answered with %d records", len(loop.Answer))
	}
	if soa := ask(t, "udp", server, "transplant.test.", dns.TypeSOA); len(soa.Answer) != 1 {
		t.Errorf("SOA of the zone is %v", soa.Answer)
	}
}

// What does not fit a datagram is cut, and whole over TCP; a text longer than one string comes back in one piece.
func TestDNSLongAnswers(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	records := zoneOf(t, cloud.as(t, "extensions-a"))
	text := strings.Repeat("0123456789", 90)
	must(records.Put(t.Context(), ownerSet(text), api.If{}))(t)
	server := serveNames(t, cloud.DNS())
	if reply := ask(t, "udp", server, ownerRecord+".", dns.TypeTXT); !reply.Truncated {
		t.Error("an answer of 900 bytes over UDP is not marked as cut")
	}
	reply := ask(t, "tcp", server, ownerRecord+".", dns.TypeTXT)
	if len(reply.Answer) != 1 || strings.Join(reply.Answer[0].(*dns.TXT).Txt, "") != text {
		t.Errorf("answer over TCP is %v", reply.Answer)
	}
}

// A resolver that asks after a write was acknowledged sees it, and sees names go.
func TestDNSFollowsWrites(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	records, ctx := zoneOf(t, cloud.as(t, "extensions-a")), t.Context()
	server := serveNames(t, cloud.DNS())
	for _, value := range []string{"e1", "e2", "e3"} {
		must(records.Put(ctx, ownerSet(value), api.If{}))(t)
		if reply := ask(t, "udp", server, ownerRecord+".", dns.TypeTXT); reply.Answer[0].(*dns.TXT).Txt[0] != value {
			t.Errorf("answer is %v after %q was written", reply.Answer, value)
		}
	}
	if err := records.Delete(ctx, api.RecordTXT, ownerRecord, api.If{}); err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, "udp", server, "alpha.p.shoots.transplant.test.", dns.TypeTXT); reply.Rcode != dns.RcodeNameError {
		t.Errorf("a name above a deleted one is answered with %s", dns.RcodeToString[reply.Rcode])
	}
}
