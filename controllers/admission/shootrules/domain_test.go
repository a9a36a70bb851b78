package shootrules

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

func TestDomains(t *testing.T) {
	t.Parallel()
	domain := func(domain string, providers ...any) func(map[string]any) {
		return func(shoot map[string]any) {
			dns := admissiontest.In(shoot, "spec", "dns")
			dns["domain"] = domain
			if len(providers) > 0 {
				dns["providers"] = providers
			}
		}
	}
	primary := func(kind string) map[string]any { return map[string]any{"primary": true, "type": kind} }
	has := func(domain string, providers ...gardencorev1beta1.DNSProvider) func(*gardencorev1beta1.Shoot) {
		return func(shoot *gardencorev1beta1.Shoot) {
			shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To(domain), Providers: providers}
		}
	}
	with := func(others ...string) func(*garden) {
		return func(g *garden) {
			for i := range g.seeds {
				g.seeds[i].Spec.DNS.Defaults = []gardencorev1beta1.SeedDNSProviderConfig{{Domain: "clusters.test"}}
			}
			g.shoots = append(g.shoots, *admissiontest.Shoot())
			for _, other := range others {
				shoot := gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-q", Name: "alpha"}}
				has(other)(&shoot)
				g.shoots = append(g.shoots, shoot)
			}
		}
	}
	const (
		invalid = `spec.dns.domain: Invalid value: `
		changed = `spec.dns.providers: Forbidden: the primary provider, its type and its zones must not be changed once ` +
			`spec.dns.domain is set`
	)
	testRules(t, []ruleCase{
		{name: "below a default domain", create: true, garden: with("beta.q.clusters.test", "palpha.p.clusters.test"),
			wire: domain("alpha.p.clusters.test")},
		{name: "given later", garden: with(), wire: domain("alpha.p.clusters.test")},
		{name: "with a provider of its own", create: true, wire: domain("alpha.example.test", primary("transplant"))},
		{
			name: "nobody serves it", create: true, garden: with(),
			wire: domain("alpha.example.test", map[string]any{"type": "transplant"}),
			want: []string{`spec.dns.providers: Required value: a primary provider must serve the domain: it lies below none ` +
				`of the default domains clusters.test`},
		},
		{
			name: "a default domain itself is nobody's", create: true, garden: with(), wire: domain("clusters.test"),
			want: []string{`spec.dns.providers: Required value: a primary provider must serve the domain: it lies below none ` +
				`of the default domains clusters.test`},
		},
		{
			name: "no seed serves any", create: true, wire: domain("alpha.example.test"),
			want: []string{`spec.dns.providers: Required value: a primary provider must serve the domain: no seed offers a ` +
				`default domain`},
		},
		{
			name: "served twice", create: true, wire: domain("alpha.example.test", primary("transplant"), primary("other")),
			want: []string{`spec.dns.providers: Invalid value: 2: only one provider can be the primary one`},
		},
		{
			name: "no name", create: true, garden: with(), wire: domain("Alpha_1.clusters.test"),
			want: []string{invalid +
				`"Alpha_1.clusters.test": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ` +
				`'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for ` +
				`validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		},
		{
			name: "too long with the name of the API server", create: true, garden: with(),
			wire: domain(strings.Repeat("a", 250-len(".clusters.test")) + ".clusters.test"),
			want: []string{invalid + `"` + strings.Repeat("a", 250-len(".clusters.test")) +
				`.clusters.test": must be no more than 253 characters`},
		},
		{
			name: "the internal name of another shoot", create: true,
			wire: domain("beta.p.internal.test", primary("transplant")),
			want: []string{invalid +
				`"beta.p.internal.test": must not lie in the internal domain "internal.test", in which all shoots have their ` +
				`internal names`},
		},
		{
			name: "another shoot's", create: true, garden: with("alpha.p.clusters.test"), wire: domain("alpha.p.clusters.test"),
			want: []string{`spec.dns.domain: Duplicate value: "alpha.p.clusters.test"`},
		},
		{
			name: "below and above those of other shoots", create: true,
			garden: with("p.clusters.test", "x.alpha.p.clusters.test"), wire: domain("alpha.p.clusters.test"),
			want: []string{
				invalid + `"alpha.p.clusters.test": must not lie below or above the domain of another shoot`,
				invalid + `"alpha.p.clusters.test": must not lie below or above the domain of another shoot`,
			},
		},
		{
			name: "changed", old: has("alpha.p.clusters.test"), garden: with(), wire: domain("beta.p.clusters.test"),
			want: []string{invalid + `"beta.p.clusters.test": field is immutable once it is set: it is "alpha.p.clusters.test"`},
		},
		{
			name: "taken away", old: has("alpha.p.clusters.test"), garden: with(), wire: func(shoot map[string]any) {
				delete(admissiontest.In(shoot, "spec"), "dns")
			},
			want: []string{invalid + `"": field is immutable once it is set: it is "alpha.p.clusters.test"`},
		},
		{name: "kept, and what others have since is not asked", old: has("alpha.p.clusters.test"),
			garden: with("alpha.p.clusters.test"), wire: domain("alpha.p.clusters.test", map[string]any{"type": "further"})},
		{
			name: "served by somebody else", old: has("alpha.p.clusters.test"), garden: with(),
			wire: domain("alpha.p.clusters.test", primary("transplant")),
			want: []string{changed},
		},
		{
			name: "of another type", old: has("alpha.example.test", gardencorev1beta1.DNSProvider{Primary: ptr.To(true),
				Type: ptr.To("other")}), garden: with(),
			wire: domain("alpha.example.test", primary("transplant")), want: []string{changed},
		},
		{
			name: "in another zone", old: has("alpha.example.test", gardencorev1beta1.DNSProvider{Primary: ptr.To(true),
				Type: ptr.To("transplant")}), garden: with(),
			wire: domain("alpha.example.test", map[string]any{"primary": true, "type": "transplant",
				"zones": map[string]any{"include": []any{"test"}}}), want: []string{changed},
		},
		{
			name: "with other credentials", old: has("alpha.example.test", gardencorev1beta1.DNSProvider{Primary: ptr.To(true),
				Type: ptr.To("transplant"), SecretName: ptr.To("old")}), garden: with(),
			wire: domain("alpha.example.test", map[string]any{"primary": true, "type": "transplant",
				"credentialsRef": map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "new"}}),
		},
	})
}
