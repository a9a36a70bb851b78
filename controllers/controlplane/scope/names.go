package scope

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// project is the part of the technical id between the dashes: shoot--<project>--<shoot>.
func (s *Scope) project() string {
	prefix, suffix := len("shoot--"), len("--"+s.Shoot.Name)
	id := s.Namespace()
	if len(id) <= prefix+suffix {
		return s.Shoot.Namespace
	}
	return id[prefix : len(id)-suffix]
}

// APIServerHost is the internal name of the shoot's API server, which is public too: the landscape itself goes by it.
func (s *Scope) APIServerHost() string {
	return fmt.Sprintf("api.%s.%s.%s", s.Shoot.Name, s.project(), s.InternalDomain)
}

// APIServerURL is the address by which clients outside the seed reach the shoot's API server, by its internal name.
func (s *Scope) APIServerURL() string { return s.URLOf(s.APIServerHost()) }

// URLOf is the address of the shoot's API server by one of its public names.
func (s *Scope) URLOf(host string) string {
	return fmt.Sprintf("https://%s:%d", host, s.GatewayPort)
}

// ExternalHost is the name of the shoot's API server below the shoot's own domain, spec.dns.domain; empty for none
// (docs/specification/nodes-and-seeds.md#spec-7-4).
func (s *Scope) ExternalHost() string {
	if dns := s.Shoot.Spec.DNS; dns != nil && ptr.Deref(dns.Domain, "") != "" {
		return "api." + *dns.Domain
	}
	return ""
}

// Hosts are the public names of the shoot's API server: the internal one, by which the landscape goes, and then the
// external one, if there is one, by which its users go.
func (s *Scope) Hosts() []string {
	hosts := []string{s.APIServerHost()}
	if external := s.ExternalHost(); external != "" {
		hosts = append(hosts, external)
	}
	return hosts
}

// dnsUnmanaged is the type of the provider of a domain that the shoot's owner serves himself: it gets no record.
const dnsUnmanaged = "unmanaged"

// ServesDomain reports whether the external name has a record that moves with the shoot.
func (s *Scope) ServesDomain() bool {
	primary := PrimaryDNSProvider(s.Shoot)
	return s.ExternalHost() != "" && (primary == nil || ptr.Deref(primary.Type, "") != dnsUnmanaged)
}

// PrimaryDNSProvider is the provider that the shoot brings for its own domain; nil for none.
func PrimaryDNSProvider(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.DNSProvider {
	if shoot.Spec.DNS == nil {
		return nil
	}
	providers := shoot.Spec.DNS.Providers
	if i := slices.IndexFunc(providers, func(p gardencorev1beta1.DNSProvider) bool {
		return ptr.Deref(p.Primary, false)
	}); i >= 0 {
		return &providers[i]
	}
	return nil
}

// CredentialsOf a provider are the name of a Secret of the project; empty for none.
func CredentialsOf(provider *gardencorev1beta1.DNSProvider) string {
	if ref := provider.CredentialsRef; ref != nil {
		return ref.Name
	}
	return ptr.Deref(provider.SecretName, "")
}

// BackupEntryName is the name of the shoot's BackupEntry (docs/specification/api.md#spec-1-7).
func (s *Scope) BackupEntryName() string { return BackupEntryName(s.Shoot) }

// BackupEntryName is the name of a shoot's BackupEntry (docs/specification/api.md#spec-1-7).
func BackupEntryName(shoot *gardencorev1beta1.Shoot) string {
	return fmt.Sprintf("%s--%s", shoot.Status.TechnicalID, shoot.Status.UID)
}

// BucketName is the name of this seed's BackupBucket: the UID of the Seed (docs/specification/api.md#spec-1-7).
func (s *Scope) BucketName() string { return string(s.SeedObject.UID) }

// OwnerLeaseName is the Lease in the project namespace that is the claim (docs/ownership.md#spec-9-1).
func (s *Scope) OwnerLeaseName() string { return OwnerLease(s.Shoot.Name) }

// OwnerLease is the name of the Lease that is the claim of a shoot (docs/ownership.md#spec-9-1).
func OwnerLease(shoot string) string { return "owner." + shoot }

// OwnerRecordName is the DNS TXT record that is the decision (docs/ownership.md#spec-9-1).
func (s *Scope) OwnerRecordName() string {
	return fmt.Sprintf("owner.%s.%s.%s", s.Shoot.Name, s.project(), s.InternalDomain)
}

// TechnicalID is that of a shoot in a project namespace of the garden.
func TechnicalID(namespace *corev1.Namespace, shoot string) string {
	project := namespace.Labels[constants.ProjectName]
	project = cmp.Or(project, strings.TrimPrefix(namespace.Name, constants.ProjectNamespacePrefix))
	return constants.TechnicalIDPrefix + project + "--" + shoot
}

// ShootNodes is the range of a shoot's nodes unless its infrastructure says another.
const ShootNodes = "10.250.0.0/16"

// Ranges are the addresses of pods and Services in a shoot.
type Ranges struct{ Pods, Services string }

// RangesOf a shoot: those of its specification, or else what admission sets.
func RangesOf(shoot *gardencorev1beta1.Shoot) Ranges {
	networking := ptr.Deref(shoot.Spec.Networking, gardencorev1beta1.Networking{})
	return Ranges{
		Pods:     ptr.Deref(networking.Pods, gardencorev1beta1.DefaultPods),
		Services: ptr.Deref(networking.Services, gardencorev1beta1.DefaultServices),
	}
}

// Kubernetes is the address of the Service default/kubernetes: the first of the range.
func (r Ranges) Kubernetes() string {
	services, err := netip.ParsePrefix(r.Services)
	if err != nil {
		return "" // admission lets no other in
	}
	return services.Addr().Next().String()
}
