package shootrules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

func domainPath() *field.Path    { return field.NewPath("spec", "dns", "domain") }
func providersPath() *field.Path { return field.NewPath("spec", "dns", "providers") }

func domainOf(shoot *gardencorev1beta1.Shoot) string {
	if shoot == nil || shoot.Spec.DNS == nil {
		return ""
	}
	return ptr.Deref(shoot.Spec.DNS.Domain, "")
}

// changesDNS reports whether the shoot has a domain and is new or changes spec.dns.
func (r *Request) changesDNS() bool {
	if domainOf(r.Shoot) == "" {
		return false
	}
	return r.Old == nil || len(differences(nil, r.oldSpec["dns"], r.spec["dns"])) > 0
}

// domainStays: users know the shoot by its domain, and a record that somebody else would serve is another one, with the
// old one left to nobody. Only the credentials may change.
func domainStays(r *Request, _ *garden) field.ErrorList {
	before := domainOf(r.Old)
	if before == "" || r.Shoot == nil {
		return nil
	}
	var errs field.ErrorList
	if now := domainOf(r.Shoot); now != before {
		errs = append(errs, field.Invalid(domainPath(), now, fmt.Sprintf("field is immutable once it is set: it is %q",
			before)))
	}
	old, now := scope.PrimaryDNSProvider(r.Old), scope.PrimaryDNSProvider(r.Shoot)
	if (old == nil) != (now == nil) || old != nil &&
		!(ptr.Equal(old.Type, now.Type) && equality.Semantic.DeepEqual(old.Zones, now.Zones)) {
		errs = append(errs, field.Forbidden(providersPath(),
			"the primary provider, its type and its zones must not be changed once spec.dns.domain is set"))
	}
	return errs
}

// domainFree asks whether a domain can be a shoot's, and is nobody else's: a name that leads to two shoots leads to
// neither.
func domainFree(r *Request, g *garden) field.ErrorList {
	domain := domainOf(r.Shoot)
	if !r.changesDNS() || domain == domainOf(r.Old) {
		return nil
	}
	var errs field.ErrorList
	for _, why := range validation.IsDNS1123Subdomain("api." + domain) {
		errs = append(errs, field.Invalid(domainPath(), domain, why))
	}
	internal := sets.New[string]()
	for i := range g.seeds {
		if own := g.seeds[i].Spec.DNS.Internal; own != nil && (domain == own.Domain || below(domain, own.Domain)) {
			internal.Insert(own.Domain)
		}
	}
	for _, own := range sets.List(internal) {
		errs = append(errs, field.Invalid(domainPath(), domain,
			fmt.Sprintf("must not lie in the internal domain %q, in which all shoots have their internal names", own)))
	}
	for i := range g.shoots {
		other := &g.shoots[i]
		if client.ObjectKeyFromObject(other) == client.ObjectKeyFromObject(r.Shoot) {
			continue
		}
		switch taken := domainOf(other); {
		case taken == domain:
			errs = append(errs, field.Duplicate(domainPath(), domain))
		case taken != "" && (below(domain, taken) || below(taken, domain)):
			errs = append(errs, field.Invalid(domainPath(), domain, "must not lie below or above the domain of another shoot"))
		}
	}
	return errs
}

// domainServed asks that somebody serves the domain: the shoot's primary provider, or a seed, below one of its default
// domains. Whether the shoot's own seed does is for placement to say.
func domainServed(r *Request, g *garden) field.ErrorList {
	if !r.changesDNS() {
		return nil
	}
	primaries := 0
	for _, provider := range r.Shoot.Spec.DNS.Providers {
		if ptr.Deref(provider.Primary, false) {
			primaries++
		}
	}
	offered := defaultDomains(g.seeds)
	switch {
	case primaries > 1:
		return field.ErrorList{field.Invalid(providersPath(), primaries, "only one provider can be the primary one")}
	case primaries == 1 || slices.ContainsFunc(offered, func(offer string) bool {
		return below(domainOf(r.Shoot), offer)
	}):
		return nil
	case len(offered) == 0:
		return field.ErrorList{field.Required(providersPath(),
			"a primary provider must serve the domain: no seed offers a default domain")}
	}
	return field.ErrorList{field.Required(providersPath(),
		"a primary provider must serve the domain: it lies below none of the default domains "+strings.Join(offered, ", "))}
}

// defaultDomains are those that some seed offers, in order.
func defaultDomains(seeds []gardencorev1beta1.Seed) []string {
	offered := sets.New[string]()
	for i := range seeds {
		for _, offer := range seeds[i].Spec.DNS.Defaults {
			offered.Insert(offer.Domain)
		}
	}
	return sets.List(offered)
}

func below(domain, parent string) bool { return strings.HasSuffix(domain, "."+parent) }
