package controlplane

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

const (
	// ServiceKubeAPIServer and ServiceEtcdClient are the Services of a control plane.
	ServiceKubeAPIServer = "kube-apiserver"
	ServiceEtcdClient    = access.ServerName

	// annotationSNIHosts lists the public names that the seed's gateway routes to a Service
	// (docs/specification/nodes-and-seeds.md#spec-7-4).
	annotationSNIHosts = "networking.transplant.dev/sni-hosts"

	apiServerPort   = 6443
	etcdClientPort  = 2379
	guardPort       = 2381 // of probes and metrics, as backupPort
	backupPort      = 8080
	shootServices   = "100.64.0.0/13"
	shootPods       = "100.96.0.0/11"
	shootNodes      = "10.250.0.0/16"
	shootDNSService = "100.64.0.10"

	shootKubernetesServiceIP = "100.64.0.1"
)

// DeployServices deploys the Services of etcd and the API server: their addresses go into certificates and
// kubeconfigs, so they come first.
func (o *Operation) DeployServices(ctx context.Context) error {
	for component, ports := range map[string][]corev1.ServicePort{
		ServiceEtcdClient: {port("client", etcdClientPort), port("guard", access.GuardPort),
			port("backup", access.SidecarPort)},
		ServiceKubeAPIServer: {port("https", apiServerPort)},
	} {
		role := component
		if component == ServiceEtcdClient {
			role = EtcdName
		}
		if err := Apply(ctx, o.Seed, &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: component, Namespace: o.Namespace(), Labels: labels(role)},
			Spec: corev1.ServiceSpec{
				Selector: selector(role).MatchLabels,
				Ports:    ports,
				// The guard answers for validity before etcd is ready, and while it passes nothing.
				PublishNotReadyAddresses: component == ServiceEtcdClient,
			},
		}); err != nil {
			return err
		}
	}
	return nil
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromInt32(number)}
}

// ExposeAPIServer lets the seed's gateway route the shoot's public names to its API server. They share one route, and
// so the validity that it is fenced by (docs/adr/0011).
func (o *Operation) ExposeAPIServer(ctx context.Context) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: ServiceKubeAPIServer, Namespace: o.Namespace()}}
	return createOrPatch(ctx, o.Seed, service, func(s *corev1.Service) error {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, annotationSNIHosts, strings.Join(o.Hosts(), ","))
		return nil
	})
}
