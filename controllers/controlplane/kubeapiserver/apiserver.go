// Package kubeapiserver deploys a shoot's kube-apiserver, kube-controller-manager and kube-scheduler, and their
// Services.
package kubeapiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// APIServer is the shoot's kube-apiserver, with the controllers that come with it.
type APIServer struct {
	*scope.Scope
	workloads *workload.Workloads
}

// New makes it over a scope.
func New(s *scope.Scope) *APIServer {
	return &APIServer{Scope: s, workloads: &workload.Workloads{Scope: s}}
}

// Deploy deploys the shoot's kube-apiserver, at zero replicas when the shoot is to be hibernated and is not
// awake for other reasons.
func (a *APIServer) Deploy(ctx context.Context) error {
	etcd, err := workload.ClusterIP(ctx, a.Scope, workload.ServiceEtcdClient)
	if err != nil {
		return err
	}
	tunnelFlags, tunnelSecrets := throughTunnel(a.Shoot)
	readAtStart, err := a.readAtStart(ctx)
	if err != nil {
		return err
	}
	volumes, mounts := workload.SecretVolumes(append([]string{secrets.CA, secrets.CAClient, secrets.CAFrontProxy,
		secrets.ServiceAccountKey,
		secrets.StaticToken,
		secrets.EncryptionKey, secrets.KubeAggregator, secrets.KubeAPIServer, secrets.EtcdClient}, tunnelSecrets...)...)
	ready := workload.HTTPProbe(corev1.URISchemeHTTPS, "/readyz", workload.PortAPIServer, 3)
	return a.workloads.DeployReading(ctx, workload.KubeAPIServer, a.Replicas(), corev1.PodSpec{
		Volumes: volumes,
		Containers: []corev1.Container{{
			Name:  workload.KubeAPIServer,
			Image: a.KubernetesImage,
			Command: append([]string{"kube-apiserver",
				"--etcd-servers=" + fmt.Sprintf("https://%s:%d", etcd, workload.PortEtcdClient),
				"--etcd-cafile=" + workload.SecretFile(secrets.EtcdClient, secrets.KeyCACert),
				"--etcd-certfile=" + workload.SecretFile(secrets.EtcdClient, secrets.KeyCert),
				"--etcd-keyfile=" + workload.SecretFile(secrets.EtcdClient, secrets.KeyKey),
				"--encryption-provider-config=" + workload.SecretFile(secrets.EncryptionKey, "encryption-configuration.yaml"),
				"--bind-address=$(POD_IP)",
				fmt.Sprintf("--secure-port=%d", workload.PortAPIServer),
				"--advertise-address=$(POD_IP)",
				"--endpoint-reconciler-type=none",
				"--service-cluster-ip-range=" + scope.RangesOf(a.Shoot).Services,
				"--service-account-issuer=" + a.APIServerURL(),
				"--service-account-key-file=" + workload.SecretFile(secrets.ServiceAccountKey, "id_rsa"),
				"--service-account-signing-key-file=" + workload.SecretFile(secrets.ServiceAccountKey, "id_rsa"),
				"--client-ca-file=" + workload.SecretFile(secrets.CAClient, secrets.KeyCACert),
				"--token-auth-file=" + workload.SecretFile(secrets.StaticToken, secrets.KeyTokens),
				"--tls-cert-file=" + workload.SecretFile(secrets.KubeAPIServer, secrets.KeyCert),
				"--tls-private-key-file=" + workload.SecretFile(secrets.KubeAPIServer, secrets.KeyKey),
				"--requestheader-client-ca-file=" + workload.SecretFile(secrets.CAFrontProxy, secrets.KeyCACert),
				"--requestheader-username-headers=X-Remote-User",
				"--requestheader-group-headers=X-Remote-Group",
				"--requestheader-extra-headers-prefix=X-Remote-Extra-",
				"--proxy-client-cert-file=" + workload.SecretFile(secrets.KubeAggregator, secrets.KeyCert),
				"--proxy-client-key-file=" + workload.SecretFile(secrets.KubeAggregator, secrets.KeyKey),
				"--authorization-mode=Node,RBAC",
				// The agents of network and CSI extensions on nodes are privileged. Pod Security decides by namespace who may be.
				"--allow-privileged=true",
				"--profiling=false",
				"--shutdown-watch-termination-grace-period=1s",
				a.emulatedVersion(),
			}, tunnelFlags...),
			Env:            []corev1.EnvVar{workload.PodIP},
			Ports:          []corev1.ContainerPort{{Name: "https", ContainerPort: workload.PortAPIServer}},
			VolumeMounts:   mounts,
			ReadinessProbe: ready,
			StartupProbe:   lives(1, 240),
			LivenessProbe:  lives(10, 3),
		}},
	}, readAtStart)
}

// readAtStart is the certificate for the tunnel, if there is one: the API server reads all others again while it runs.
// With an old one the tunnel would carry nothing once that has expired.
func (a *APIServer) readAtStart(ctx context.Context) ([]byte, error) {
	if !lifecycle.RealNodes(a.Shoot) {
		return nil, nil
	}
	data, err := (&secrets.Secrets{Scope: a.Scope}).Data(ctx, secrets.VPNClient)
	return data[secrets.KeyCert], err
}

// throughTunnel is how the API server reaches kubelets, pods and Services, if pods run on the shoot's nodes.
func throughTunnel(shoot *gardencorev1beta1.Shoot) (flags, files []string) {
	if !lifecycle.RealNodes(shoot) {
		return nil, nil
	}
	return []string{
		"--egress-selector-config-file=" + workload.SecretFile(secrets.VPNClient, secrets.KeyEgress),
		"--kubelet-client-certificate=" + workload.SecretFile(secrets.KubeletClient, secrets.KeyCert),
		"--kubelet-client-key=" + workload.SecretFile(secrets.KubeletClient, secrets.KeyKey),
	}, []string{secrets.VPNClient, secrets.KubeletClient}
}

// lives does not ask whether etcd answers: an API server that is started anew mends no etcd. On a busy machine
// its start takes away the processor time that the others lack, so that they are started anew as well. The limits are
// those of kubeadm (four minutes to start) and Gardener (15 s, three times).
func lives(period, failures int32) *corev1.Probe {
	probe := workload.HTTPProbe(corev1.URISchemeHTTPS, "/livez?exclude=etcd", workload.PortAPIServer, failures)
	probe.PeriodSeconds, probe.TimeoutSeconds = period, 15
	return probe
}

// DeleteAll deletes the API server and those who live on it, all at once, and waits until their pods are gone.
func (a *APIServer) DeleteAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	names := []string{workload.ResourceManager, workload.Scheduler, workload.ControllerManager, workload.KubeAPIServer}
	if lifecycle.RealNodes(a.Shoot) {
		names = append(names, workload.VPNSeedServer)
	}
	for _, name := range names {
		group.Go(func() error { return a.workloads.Delete(ctx, name) })
	}
	return group.Wait()
}

// HasServed reports whether the shoot has an API server that may have taken objects: there may be something to clean
// up.
func (a *APIServer) HasServed(ctx context.Context) (bool, error) {
	d, err := a.read(ctx)
	return d != nil && (a.Shoot.Status.SeedName != nil || d.Status.ReadyReplicas > 0), err
}

// Serves reports whether the shoot's API server runs now.
func (a *APIServer) Serves(ctx context.Context) (bool, error) {
	d, err := a.read(ctx)
	return d != nil && d.Status.ReadyReplicas > 0, err
}

// read reads the Deployment of the API server; nil if there is none.
func (a *APIServer) read(ctx context.Context) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	err := a.Seed.Get(ctx, a.Key(workload.KubeAPIServer), d)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read deployment %q: %w", workload.KubeAPIServer, err)
	}
	return d, nil
}

// DeployControllers deploys the shoot's kube-controller-manager and kube-scheduler.
func (a *APIServer) DeployControllers(ctx context.Context) error {
	volumes, mounts := workload.SecretVolumes(secrets.CA, secrets.ServiceAccountKey, secrets.ControllerManager)
	if err := a.workloads.Deploy(ctx, workload.ControllerManager, a.Replicas(), corev1.PodSpec{
		Volumes: volumes,
		Containers: []corev1.Container{{
			Name:  workload.ControllerManager,
			Image: a.KubernetesImage,
			Command: []string{"kube-controller-manager",
				"--kubeconfig=" + workload.SecretFile(secrets.ControllerManager, "kubeconfig"),
				"--root-ca-file=" + workload.SecretFile(secrets.CA, secrets.KeyCACert),
				"--service-account-private-key-file=" + workload.SecretFile(secrets.ServiceAccountKey, "id_rsa"),
				"--use-service-account-credentials=true",
				"--allocate-node-cidrs=false",
				"--leader-elect=false", "--secure-port=0",
				"--kube-api-qps=200", "--kube-api-burst=400",
				a.emulatedVersion(),
			},
			Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts,
		}},
	}); err != nil {
		return err
	}
	volumes, mounts = workload.SecretVolumes(secrets.Scheduler)
	return a.workloads.Deploy(ctx, workload.Scheduler, a.Replicas(), corev1.PodSpec{
		Volumes: volumes,
		Containers: []corev1.Container{{
			Name:  workload.Scheduler,
			Image: a.KubernetesImage,
			Command: []string{"kube-scheduler",
				"--kubeconfig=" + workload.SecretFile(secrets.Scheduler, "kubeconfig"),
				"--leader-elect=false", "--secure-port=0",
				a.emulatedVersion(),
			},
			Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts,
		}},
	})
}

// emulatedVersion has a program behave as the shoot's minor version: one binary serves all versions (docs/adr/0007). A
// version that the binary cannot emulate keeps it from starting, and it says so.
func (a *APIServer) emulatedVersion() string {
	version := a.Shoot.Spec.Kubernetes.Version
	if v, err := semver.NewVersion(version); err == nil {
		version = fmt.Sprintf("%d.%d", v.Major(), v.Minor())
	}
	return "--emulated-version=" + version
}

// WaitControllers waits until the shoot's controllers run, and those of its cloud, if it has any.
func (a *APIServer) WaitControllers(ctx context.Context) error {
	for _, controllers := range []string{workload.ControllerManager, workload.MachineController} {
		exists, err := a.workloads.Exists(ctx, controllers)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		if err := a.workloads.Wait(ctx, controllers, 5*time.Minute); err != nil {
			return err
		}
	}
	return nil
}

// annotationSNIHosts lists the public names that the seed's gateway routes to a Service
// (docs/specification/nodes-and-seeds.md#spec-7-4).
const annotationSNIHosts = "networking.transplant.dev/sni-hosts"

// DeployServices deploys the Services of etcd and the API server: their addresses go into certificates and
// kubeconfigs, so they come first.
func (a *APIServer) DeployServices(ctx context.Context) error {
	services := map[string][]corev1.ServicePort{
		workload.ServiceEtcdClient: {port("client", workload.PortEtcdClient), port("guard", access.GuardPort),
			port("backup", access.SidecarPort)},
		workload.ServiceKubeAPIServer: {port("https", workload.PortAPIServer)},
	}
	if lifecycle.RealNodes(a.Shoot) {
		services[workload.VPNSeedServer] = []corev1.ServicePort{port("vpn", workload.PortVPN),
			port("egress", workload.PortEgress)}
	}
	for component, ports := range services {
		role := component
		if component == workload.ServiceEtcdClient {
			role = workload.Etcd
		}
		service := &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: component, Namespace: a.Namespace(), Labels: workload.Labels(role)},
			Spec: corev1.ServiceSpec{
				Selector: workload.Selector(role).MatchLabels,
				Ports:    ports,
				// The guard answers for validity before etcd is ready, and while it passes nothing.
				PublishNotReadyAddresses: component == workload.ServiceEtcdClient,
			},
		}
		if err := objects.Apply(ctx, a.Seed, service); err != nil {
			return err
		}
		if address := service.Spec.ClusterIP; address != "" {
			a.ClusterIPs.Store(component, address)
		}
	}
	return nil
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromInt32(number)}
}

// Expose lets the seed's gateway route the shoot's public names to its API server. They share one route, and
// so the validity that it is fenced by (docs/adr/0011).
func (a *APIServer) Expose(ctx context.Context) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: workload.ServiceKubeAPIServer,
		Namespace: a.Namespace()}}
	return patch.Object(ctx, a.Seed, service, func() {
		metav1.SetMetaDataAnnotation(&service.ObjectMeta, annotationSNIHosts, strings.Join(a.Hosts(), ","))
	})
}
