// Package dns has the DNSRecords of the names of a shoot's API server, and finds the gateway that they lead to. The
// owner record is none of them.
package dns

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
	"github.com/transplant-sim/transplant/controllers/controlplane/contract"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// Records are the DNSRecords of the names of a shoot's API server.
type Records struct {
	*scope.Scope
	objects     *contract.Objects
	credentials *namespace.Credentials
}

// New makes it over a scope.
func New(s *scope.Scope) *Records {
	return &Records{s, &contract.Objects{Scope: s}, &namespace.Credentials{Scope: s}}
}

// Internal is the shoot's internal DNSRecord, by name only.
func (r *Records) Internal() *extensionsv1alpha1.DNSRecord {
	return &extensionsv1alpha1.DNSRecord{ObjectMeta: r.Meta(r.Shoot.Name + "-internal")}
}

// DeployInternal points the shoot's internal name at this seed's gateway, and waits until it leads there.
func (r *Records) DeployInternal(ctx context.Context) error {
	return r.deployInternal(ctx, r.objects.Wait)
}

func (r *Records) deployInternal(ctx context.Context, wait wait) error {
	spec := r.objects.ProviderSpec(nil)
	if r.SeedObject != nil && r.SeedObject.Spec.DNS.Internal != nil {
		spec.Type = r.SeedObject.Spec.DNS.Internal.Type
	}
	return r.pointAtGateway(ctx, r.Internal(), extensionsv1alpha1.DNSRecordSpec{
		DefaultSpec: spec,
		SecretRef:   r.objects.CloudProviderRef(),
		Zone:        ptr.To(r.InternalDomain),
		Name:        r.APIServerHost(),
	}, wait)
}

// wait for what an extension is to have done with an object.
type wait func(context.Context, extensionsv1alpha1.Object) error

// pointAtGateway deploys or restores a DNSRecord of which spec says all but where it leads, and waits.
func (r *Records) pointAtGateway(ctx context.Context, record *extensionsv1alpha1.DNSRecord,
	spec extensionsv1alpha1.DNSRecordSpec, wait wait) error {
	addresses, err := r.gatewayAddresses(ctx)
	if err != nil {
		return err
	}
	spec.RecordType, spec.Values, spec.TTL = extensionsv1alpha1.DNSRecordTypeA, addresses,
		ptr.To(int64(r.DNSTTL.Seconds()))
	if err := r.objects.Deploy(ctx, record, func() error {
		record.Spec = spec
		return nil
	}); err != nil {
		return err
	}
	return wait(ctx, &extensionsv1alpha1.DNSRecord{ObjectMeta: r.Meta(record.Name)})
}

// ReclaimInternal deploys the internal DNSRecord, and waits until the extension has taken it up.
func (r *Records) ReclaimInternal(ctx context.Context) error {
	return r.deployInternal(ctx, r.objects.WaitTakenUp)
}

// domainServer is who serves a shoot's domain.
type domainServer struct {
	kind string // of the DNSRecord
	zone *string
	// credentials is a Secret of the shoot's project; empty for those of the cloud.
	credentials string
}

// domainServer is the primary provider that the shoot brings, or else its seed, by the default domain that the shoot's
// domain lies below (docs/specification/api.md#spec-1-2, docs/specification/api.md#spec-1-4).
func (r *Records) domainServer() (domainServer, error) {
	if primary := scope.PrimaryDNSProvider(r.Shoot); primary != nil {
		server := domainServer{kind: ptr.Deref(primary.Type, r.Shoot.Spec.Provider.Type)}
		server.credentials = scope.CredentialsOf(primary)
		if primary.Zones != nil && len(primary.Zones.Include) == 1 {
			server.zone = &primary.Zones.Include[0]
		}
		return server, nil
	}
	var best *gardencorev1beta1.SeedDNSProviderConfig
	for i, offered := range r.SeedObject.Spec.DNS.Defaults {
		if strings.HasSuffix(*r.Shoot.Spec.DNS.Domain, "."+offered.Domain) &&
			(best == nil || len(offered.Domain) > len(best.Domain)) {
			best = &r.SeedObject.Spec.DNS.Defaults[i]
		}
	}
	if best == nil {
		return domainServer{}, &errorcodes.Error{
			Message: fmt.Sprintf(
				"nobody serves the domain %q: it lies below no default domain of seed %q, "+
					"and spec.dns.providers has no primary one",
				*r.Shoot.Spec.DNS.Domain, r.SeedName),
			Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorConfigurationProblem},
		}
	}
	return domainServer{kind: best.Type, zone: ptr.To(ptr.Deref(best.Zone, best.Domain))}, nil
}

// external is the shoot's external DNSRecord, by name only.
func (r *Records) external() *extensionsv1alpha1.DNSRecord {
	return &extensionsv1alpha1.DNSRecord{ObjectMeta: r.Meta(r.Shoot.Name + "-" + constants.DNSRecordExternalSuffix)}
}

// DeployExternal does the same with the external name. Only a shoot with a domain that is served with it may be asked
// for it.
func (r *Records) DeployExternal(ctx context.Context) error {
	return r.deployExternal(ctx, r.objects.Wait)
}

func (r *Records) deployExternal(ctx context.Context, wait wait) error {
	server, err := r.domainServer()
	if err != nil {
		return err
	}
	record := r.external()
	secret := constants.SecretNamePrefixDNSRecord + record.Name
	if err := r.deployDomainCredentials(ctx, server, secret); err != nil {
		return err
	}
	return r.pointAtGateway(ctx, record, extensionsv1alpha1.DNSRecordSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: server.kind},
		SecretRef:   corev1.SecretReference{Name: secret, Namespace: r.Namespace()},
		Zone:        server.zone,
		Name:        r.ExternalHost(),
	}, wait)
}

// deployDomainCredentials copies the credentials of whoever serves the domain. A shoot in deletion does without those
// that are gone, like without other copies.
func (r *Records) deployDomainCredentials(ctx context.Context, server domainServer, name string) error {
	if server.credentials == "" {
		return r.credentials.DeployForCloud(ctx, name)
	}
	source, key := &corev1.Secret{}, client.ObjectKey{Namespace: r.Shoot.Namespace, Name: server.credentials}
	switch err := r.Garden.Get(ctx, key, source); {
	case apierrors.IsNotFound(err) && r.Shoot.DeletionTimestamp != nil:
		return nil
	case apierrors.IsNotFound(err):
		return &errorcodes.Error{
			Message: fmt.Sprintf("copy the credentials for the domain %q: the project has no secret %q",
				*r.Shoot.Spec.DNS.Domain, key.Name),
			Codes: []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorRetryableConfigurationProblem},
		}
	case err != nil:
		return fmt.Errorf("read secret %q: %w", key, err)
	}
	return objects.ApplyCopy(ctx, r.Seed, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: r.Meta(name),
		Type:       source.Type,
		Data:       source.Data,
	})
}

// ReclaimExternal deploys the external DNSRecord, and waits until the extension has taken it up.
func (r *Records) ReclaimExternal(ctx context.Context) error {
	return r.deployExternal(ctx, r.objects.WaitTakenUp)
}

const (
	// handlerInfix stands between the namespace of the seed's gateway and an exposure class, in the namespace of the
	// gateway that serves shoots of that class.
	handlerInfix = "-handler-"
	// zoneInfix stands between the namespace of a gateway and a zone, in the namespace of the gateway's part in that zone.
	zoneInfix = "--"
)

// gatewayAddresses are the addresses at which clients outside reach the shoot on this seed
// (docs/specification/nodes-and-seeds.md#spec-7-4): those of the gateway of its exposure class, or of the seed's own.
// Where a gateway has parts in zones of the seed it is one address for each, as every part knows the way to every
// shoot; the gateway itself counts where it has none.
func (r *Records) gatewayAddresses(ctx context.Context) ([]string, error) {
	namespace, class := r.GatewayNamespace, ptr.Deref(r.Shoot.Spec.ExposureClassName, "")
	if class != "" {
		namespace += handlerInfix + class
	}
	var addresses []string
	for _, zone := range r.zones() {
		found, err := r.addressesOf(ctx, namespace+zoneInfix+zone)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		addresses = append(addresses, found...)
	}
	if len(addresses) == 0 {
		var err error
		if addresses, err = r.addressesOf(ctx, namespace); apierrors.IsNotFound(err) && class != "" {
			return nil, &errorcodes.Error{
				Message: fmt.Sprintf("the seed has no gateway for the exposure class %q: %v", class, err),
				Codes:   []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorConfigurationProblem},
			}
		} else if err != nil {
			return nil, err
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}

// zones are those of the seed.
func (r *Records) zones() []string {
	if r.SeedObject == nil {
		return nil
	}
	return r.SeedObject.Spec.Provider.Zones
}

// addressesOf are those of the load balancer of a gateway.
func (r *Records) addressesOf(ctx context.Context, namespace string) ([]string, error) {
	service := &corev1.Service{}
	key := client.ObjectKey{Namespace: namespace, Name: r.GatewayService}
	if err := r.Seed.Get(ctx, key, service); err != nil {
		return nil, fmt.Errorf("read the gateway's service %q: %w", key, err)
	}
	var addresses []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			addresses = append(addresses, ingress.IP)
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("the gateway's service %q has no load balancer address yet", key)
	}
	return addresses, nil
}
