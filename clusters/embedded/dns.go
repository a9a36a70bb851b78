package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/miekg/dns"
)

// resolveByDNS asks the landscape's DNS server for an address, and follows the name where it is an alias. The answer
// may be kept for the shortest TTL on the way.
func (l *Landscape) resolveByDNS(ctx context.Context, host string) (string, time.Duration, error) {
	question := new(dns.Msg)
	question.SetQuestion(dns.Fqdn(host), dns.TypeA)
	answer, _, err := new(dns.Client).ExchangeContext(ctx, question, l.DNS().String())
	if err != nil {
		return "", 0, fmt.Errorf("ask the DNS server %s for %q: %w", l.DNS(), host, err)
	}
	if answer.Rcode != dns.RcodeSuccess {
		return "", 0, fmt.Errorf("ask the DNS server %s for %q: it answers %s", l.DNS(), host, dns.RcodeToString[answer.Rcode])
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
		return "", 0, fmt.Errorf("ask the DNS server %s for %q: it has no address", l.DNS(), host)
	}
	return address, ttl, nil
}
