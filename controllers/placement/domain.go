package placement

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// defaultDomainOffered asks that a shoot whose domain lies below a default domain of the landscape is on a seed that
// serves it. A shoot that brings its own DNS provider depends on no seed's.
func defaultDomainOffered(q *Question, seed *gardencorev1beta1.Seed) string {
	domain := q.defaultDomain()
	if domain == "" || offers(seed, domain) {
		return ""
	}
	return fmt.Sprintf("does not offer the default domain %q of spec.dns.domain", domain)
}

// defaultDomain is the default domain that the shoot uses, the longest if several fit; empty for none.
func (q *Question) defaultDomain() string {
	dns := q.Shoot.Spec.DNS
	if dns == nil || dns.Domain == nil || ownProvider(dns) {
		return ""
	}
	longest := ""
	for i := range q.Seeds {
		for _, offered := range q.Seeds[i].Spec.DNS.Defaults {
			if strings.HasSuffix(*dns.Domain, "."+offered.Domain) && len(offered.Domain) > len(longest) {
				longest = offered.Domain
			}
		}
	}
	return longest
}

func ownProvider(dns *gardencorev1beta1.DNS) bool {
	return slices.ContainsFunc(dns.Providers, func(provider gardencorev1beta1.DNSProvider) bool {
		return ptr.Deref(provider.Primary, false)
	})
}

func offers(seed *gardencorev1beta1.Seed, domain string) bool {
	return slices.ContainsFunc(seed.Spec.DNS.Defaults, func(offered gardencorev1beta1.SeedDNSProviderConfig) bool {
		return offered.Domain == domain
	})
}

// sameInternalDomain asks that the shoot keeps its internal name when it moves.
func sameInternalDomain(q *Question, seed *gardencorev1beta1.Seed) string {
	source := q.Seed(q.Source)
	if source == nil {
		return ""
	}
	from, to := internalDomain(source), internalDomain(seed)
	if from == to {
		return ""
	}
	return fmt.Sprintf("has the internal domain %q, and that of the source seed %q is %q", to, q.Source, from)
}

func internalDomain(seed *gardencorev1beta1.Seed) string {
	if seed.Spec.DNS.Internal == nil {
		return ""
	}
	return seed.Spec.DNS.Internal.Domain
}
