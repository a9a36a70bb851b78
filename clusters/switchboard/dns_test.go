package switchboard

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// serveDNS answers every question but the first ones, and counts them all.
func serveDNS(t *testing.T, lost int32) (string, *atomic.Int32) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := &atomic.Int32{}
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		if asked.Add(1) <= lost {
			return
		}
		answer := new(dns.Msg).SetReply(question)
		answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeA,
			Class: dns.ClassINET, Ttl: 7}, A: net.IPv4(127, 0, 0, 9)}}
		if err := w.WriteMsg(answer); err != nil {
			t.Error(err)
		}
	})}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		_ = server.Shutdown()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return socket.LocalAddr().String(), asked
}

func TestAskDNS_LostDatagram_IsSentAgain(t *testing.T) {
	t.Parallel()
	for lost, want := range map[int32]struct {
		address string
		asked   int32
	}{0: {"127.0.0.9", 1}, 1: {"127.0.0.9", 2}, 9: {"", 2}} {
		server, asked := serveDNS(t, lost)
		// Long enough for an answer on a busy machine, where one is expected.
		address, ttl, err := askDNS(t.Context(), server, "x.test", time.Second)
		if address != want.address || asked.Load() != want.asked {
			t.Errorf("%d lost: address %q after %d questions, want %q after %d: %v", lost, address, asked.Load(), want.address,
				want.asked, err)
		}
		if want.address == "" && (err == nil || !strings.Contains(err.Error(), "i/o timeout")) {
			t.Errorf("%d lost: error %v", lost, err)
		}
		if want.address != "" && ttl != 7*time.Second {
			t.Errorf("%d lost: TTL %s", lost, ttl)
		}
	}
}
