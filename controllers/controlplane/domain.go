package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// dnsUnmanaged is the type of the provider of a domain that the shoot's owner serves himself: it gets no record.
const dnsUnmanaged = "unmanaged"

// ExternalHost is the name of the shoot's API server below the shoot's own domain, spec.dns.domain; empty for none
// (docs/specification/nodes-and-seeds.md#spec-7-4).
func (o *Operation) ExternalHost() string {
	if dns := o.Shoot.Spec.DNS; dns != nil && ptr.Deref(dns.Domain, "") != "" {
		return "api." + *dns.Domain
	}
	return ""
}

// Hosts are the public names of the shoot's API server: the internal one, by which the landscape goes, and then the
// external one, if there is one, by which its users go.
func (o *Operation) Hosts() []string {
	hosts := []string{o.APIServerHost()}
	if external := o.ExternalHost(); external != "" {
		hosts = append(hosts, external)
	}
	return hosts
}

// servesDomain reports whether the external name has a record that moves with the shoot.
func (o *Operation) servesDomain() bool {
	primary := PrimaryDNSProvider(o.Shoot)
	return o.ExternalHost() != "" && (primary == nil || ptr.Deref(primary.Type, "") != dnsUnmanaged)
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

// domainServer is who serves a shoot's domain.
type domainServer struct {
	kind string // of the DNSRecord
	zone *string
	// credentials is a Secret of the shoot's project; empty for those of the cloud.
	credentials string
}

// credentialsOf a provider are the name of a Secret of the project; empty for none.
func credentialsOf(provider *gardencorev1beta1.DNSProvider) string {
	if ref := provider.CredentialsRef; ref != nil {
		return ref.Name
	}
	return ptr.Deref(provider.SecretName, "")
}

// domainServer is the primary provider that the shoot brings, or else its seed, by the default domain that the shoot's
// domain lies below (docs/specification/api.md#spec-1-2, docs/specification/api.md#spec-1-4).
func (o *Operation) domainServer() (domainServer, error) {
	if primary := PrimaryDNSProvider(o.Shoot); primary != nil {
		server := domainServer{kind: ptr.Deref(primary.Type, o.Shoot.Spec.Provider.Type), credentials: credentialsOf(primary)}
		if primary.Zones != nil && len(primary.Zones.Include) == 1 {
			server.zone = &primary.Zones.Include[0]
		}
		return server, nil
	}
	var best *gardencorev1beta1.SeedDNSProviderConfig
	for i, offered := range o.SeedObject.Spec.DNS.Defaults {
		if strings.HasSuffix(*o.Shoot.Spec.DNS.Domain, "."+offered.Domain) &&
			(best == nil || len(offered.Domain) > len(best.Domain)) {
			best = &o.SeedObject.Spec.DNS.Defaults[i]
		}
	}
	if best == nil {
		return domainServer{}, &CodedError{
			Message: fmt.Sprintf(
				"nobody serves the domain %q: it lies below no default domain of seed %q, "+
					"and spec.dns.providers has no primary one",
				*o.Shoot.Spec.DNS.Domain, o.SeedName),
			Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorConfigurationProblem},
		}
	}
	return domainServer{kind: best.Type, zone: ptr.To(ptr.Deref(best.Zone, best.Domain))}, nil
}

// ExternalDNSRecord is the shoot's external DNSRecord, by name only.
func (o *Operation) ExternalDNSRecord() *extensionsv1alpha1.DNSRecord {
	return &extensionsv1alpha1.DNSRecord{ObjectMeta: o.meta(o.Shoot.Name + "-" + constants.DNSRecordExternalSuffix)}
}

// DeployExternalDNSRecord points the external name at this seed's gateway, where the internal one points. Only a shoot
// with a domain that is served with it may be asked for it.
func (o *Operation) DeployExternalDNSRecord(ctx context.Context) error {
	server, err := o.domainServer()
	if err != nil {
		return err
	}
	record := o.ExternalDNSRecord()
	secret := constants.SecretNamePrefixDNSRecord + record.Name
	if err := o.deployDomainCredentials(ctx, server, secret); err != nil {
		return err
	}
	return o.pointAtGateway(ctx, record, extensionsv1alpha1.DNSRecordSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: server.kind},
		SecretRef:   corev1.SecretReference{Name: secret, Namespace: o.Namespace()},
		Zone:        server.zone,
		Name:        o.ExternalHost(),
	})
}

// deployDomainCredentials copies the credentials of whoever serves the domain. A shoot in deletion does without those
// that are gone, like without other copies.
func (o *Operation) deployDomainCredentials(ctx context.Context, server domainServer, name string) error {
	if server.credentials == "" {
		return o.deployCloudCredentials(ctx, name)
	}
	source, key := &corev1.Secret{}, client.ObjectKey{Namespace: o.Shoot.Namespace, Name: server.credentials}
	switch err := o.Garden.Get(ctx, key, source); {
	case apierrors.IsNotFound(err) && o.Shoot.DeletionTimestamp != nil:
		return nil
	case apierrors.IsNotFound(err):
		return &CodedError{
			Message: fmt.Sprintf("copy the credentials for the domain %q: the project has no secret %q",
				*o.Shoot.Spec.DNS.Domain, key.Name),
			Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorRetryableConfigurationProblem},
		}
	case err != nil:
		return fmt.Errorf("read secret %q: %w", key, err)
	}
	return o.applyCopy(ctx, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: o.meta(name),
		Type:       source.Type,
		Data:       source.Data,
	})
}

func (o *Operation) deployAndWaitExternalDNSRecord(ctx context.Context) error {
	if err := o.DeployExternalDNSRecord(ctx); err != nil {
		return err
	}
	return o.WaitExtension(ctx, o.ExternalDNSRecord())
}
