package switchboard

import (
	"context"
	"fmt"
	"time"

	"github.com/miekg/dns"

	"github.com/transplant-sim/transplant/clusters/link/forward"
)

// The defaults of resolv.conf(5): datagrams get lost, and a server on a busy machine is late.
const (
	attempts       = 2
	attemptTimeout = 5 * time.Second
)

// AskDNS resolves by asking a DNS server, up to two times for 5 s each, and follows a name that is an alias. The answer
// may be kept for the shortest TTL on the way.
func AskDNS(server string) forward.ResolveFunc {
	return func(ctx context.Context, host string) (string, time.Duration, error) {
		return askDNS(ctx, server, host, attemptTimeout)
	}
}

func askDNS(ctx context.Context, server, host string, timeout time.Duration) (string, time.Duration, error) {
	question := new(dns.Msg)
	question.SetQuestion(dns.Fqdn(host), dns.TypeA)
	var answer *dns.Msg
	var err error
	for range attempts {
		answer, _, err = (&dns.Client{Timeout: timeout}).ExchangeContext(ctx, question, server)
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return "", 0, fmt.Errorf("ask the DNS server %s for %q: %w", server, host, err)
	}
	if answer.Rcode != dns.RcodeSuccess {
		return "", 0, fmt.Errorf("ask the DNS server %s for %q: it answers %s", server, host, dns.RcodeToString[answer.Rcode])
	}
	var address string
	var ttl time.Duration
	for i, record := range answer.Answer {
		if life := time.Duration(record.Header().Ttl) * time.Second; i == 0 || life < ttl {
			ttl = life
		}
		if a, isAddress := record.(*dns.A); isAddress && address == "" {
			address = a.A.String()
		}
	}
	if address == "" {
		return "", 0, fmt.Errorf("ask the DNS server %s for %q: it has no address", server, host)
	}
	return address, ttl, nil
}
