package controlplane

import (
	"context"
	"fmt"
	"path"

	"github.com/Masterminds/semver/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

// Names of the Deployments of a control plane.
const (
	DeploymentKubeAPIServer     = "kube-apiserver"
	DeploymentControllerManager = "kube-controller-manager"
	DeploymentScheduler         = "kube-scheduler"
	DeploymentMachineController = "machine-controller"
	DeploymentResourceManager   = "gardener-resource-manager"
)

// DeployAPIServer deploys the shoot's kube-apiserver, at zero replicas when the shoot is to be hibernated and is not
// awake for other reasons.
func (o *Operation) DeployAPIServer(ctx context.Context, replicas int32) error {
	etcd := &corev1.Service{}
	if err := o.Seed.Get(ctx, o.key(ServiceEtcdClient), etcd); err != nil {
		return fmt.Errorf("read service %q: %w", ServiceEtcdClient, err)
	}
	volumes, mounts := secretVolumes(SecretCA, SecretCAClient, SecretCAFrontProxy, SecretServiceAccountKey,
		SecretStaticToken,
		SecretEncryptionKey, SecretKubeAggregator, SecretKubeAPIServer, secretEtcdClient)
	ready := httpProbe(corev1.URISchemeHTTPS, "/readyz", apiServerPort, 3)
	return o.deploy(ctx, DeploymentKubeAPIServer, replicas, corev1.PodSpec{
		// without its etcd it uses up all of it, such as on a seed that returns
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		Volumes:                       volumes,
		Containers: []corev1.Container{{
			Name:  DeploymentKubeAPIServer,
			Image: o.KubernetesImage,
			Command: []string{"kube-apiserver",
				"--etcd-servers=" + fmt.Sprintf("https://%s:%d", etcd.Spec.ClusterIP, etcdClientPort),
				"--etcd-cafile=" + secretFile(secretEtcdClient, keyCACert),
				"--etcd-certfile=" + secretFile(secretEtcdClient, keyCert),
				"--etcd-keyfile=" + secretFile(secretEtcdClient, keyKey),
				"--encryption-provider-config=" + secretFile(SecretEncryptionKey, "encryption-configuration.yaml"),
				"--bind-address=$(POD_IP)",
				fmt.Sprintf("--secure-port=%d", apiServerPort),
				"--advertise-address=$(POD_IP)",
				"--endpoint-reconciler-type=none",
				"--service-cluster-ip-range=" + shootServices,
				"--service-account-issuer=" + o.APIServerURL(),
				"--service-account-key-file=" + secretFile(SecretServiceAccountKey, "id_rsa"),
				"--service-account-signing-key-file=" + secretFile(SecretServiceAccountKey, "id_rsa"),
				"--client-ca-file=" + secretFile(SecretCAClient, keyCACert),
				"--token-auth-file=" + secretFile(SecretStaticToken, keyTokens),
				"--tls-cert-file=" + secretFile(SecretKubeAPIServer, keyCert),
				"--tls-private-key-file=" + secretFile(SecretKubeAPIServer, keyKey),
				"--requestheader-client-ca-file=" + secretFile(SecretCAFrontProxy, keyCACert),
				"--requestheader-username-headers=X-Remote-User",
				"--requestheader-group-headers=X-Remote-Group",
				"--requestheader-extra-headers-prefix=X-Remote-Extra-",
				"--proxy-client-cert-file=" + secretFile(SecretKubeAggregator, keyCert),
				"--proxy-client-key-file=" + secretFile(SecretKubeAggregator, keyKey),
				"--authorization-mode=Node,RBAC",
				"--profiling=false",
				"--shutdown-watch-termination-grace-period=1s",
				o.emulatedVersion(),
			},
			Env:            []corev1.EnvVar{podIP},
			Ports:          []corev1.ContainerPort{{Name: "https", ContainerPort: apiServerPort}},
			VolumeMounts:   mounts,
			ReadinessProbe: ready,
			StartupProbe:   apiServerLives(1, 240),
			LivenessProbe:  apiServerLives(10, 3),
		}},
	})
}

// DeployControllers deploys the shoot's kube-controller-manager and kube-scheduler.
func (o *Operation) DeployControllers(ctx context.Context, replicas int32) error {
	volumes, mounts := secretVolumes(SecretCA, SecretServiceAccountKey, secretControllerManager)
	if err := o.deploy(ctx, DeploymentControllerManager, replicas, corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		Volumes:                       volumes,
		Containers: []corev1.Container{{
			Name:  DeploymentControllerManager,
			Image: o.KubernetesImage,
			Command: []string{"kube-controller-manager",
				"--kubeconfig=" + secretFile(secretControllerManager, "kubeconfig"),
				"--root-ca-file=" + secretFile(SecretCA, keyCACert),
				"--service-account-private-key-file=" + secretFile(SecretServiceAccountKey, "id_rsa"),
				"--use-service-account-credentials=true",
				"--allocate-node-cidrs=false",
				"--leader-elect=false", "--secure-port=0",
				"--kube-api-qps=200", "--kube-api-burst=400",
				o.emulatedVersion(),
			},
			Env: []corev1.EnvVar{podIP}, VolumeMounts: mounts,
		}},
	}); err != nil {
		return err
	}
	volumes, mounts = secretVolumes(secretScheduler)
	return o.deploy(ctx, DeploymentScheduler, replicas, corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		Volumes:                       volumes,
		Containers: []corev1.Container{{
			Name:  DeploymentScheduler,
			Image: o.KubernetesImage,
			Command: []string{"kube-scheduler",
				"--kubeconfig=" + secretFile(secretScheduler, "kubeconfig"),
				"--leader-elect=false", "--secure-port=0",
				o.emulatedVersion(),
			},
			Env: []corev1.EnvVar{podIP}, VolumeMounts: mounts,
		}},
	})
}

// emulatedVersion has a program behave as the shoot's minor version: one binary serves all versions (docs/adr/0007). A
// version that the binary cannot emulate keeps it from starting, and it says so.
func (o *Operation) emulatedVersion() string {
	version := o.Shoot.Spec.Kubernetes.Version
	if v, err := semver.NewVersion(version); err == nil {
		version = fmt.Sprintf("%d.%d", v.Major(), v.Minor())
	}
	return "--emulated-version=" + version
}

// DeployMachineController deploys the controller of the shoot's machine objects. While restoring it stays at zero
// replicas until the Worker extension has restored the machines and scales it up
// (docs/specification/extensions.md#spec-3-7).
func (o *Operation) DeployMachineController(ctx context.Context, replicas int32) error {
	volumes, mounts := secretVolumes(secretMachineController, SecretKubeconfigCloud, access.MachineController.Secret())
	return o.deploy(ctx, DeploymentMachineController, replicas, corev1.PodSpec{
		ServiceAccountName:            DeploymentMachineController,
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		Volumes:                       volumes,
		Containers: []corev1.Container{{
			Name:  DeploymentMachineController,
			Image: o.Image,
			Command: []string{"transplant", "machine-controller",
				"--namespace=" + o.Namespace(),
				"--target-kubeconfig=" + secretFile(secretMachineController, "kubeconfig"),
				"--cloud-kubeconfig=" + secretFile(SecretKubeconfigCloud, "kubeconfig"),
				fmt.Sprintf("--guard-url=https://$(ETCD_MAIN_CLIENT_SERVICE_HOST):%d", access.GuardPort),
				"--guard-credentials=" + path.Join(mountRoot, access.MachineController.Secret()),
				metricsFlag,
			},
			Env: []corev1.EnvVar{podIP}, VolumeMounts: mounts, Ports: metricsAt(metricsPort),
		}},
	})
}

// deploy applies a Deployment.
func (o *Operation) deploy(ctx context.Context, name string, replicas int32, pod corev1.PodSpec) error {
	annotations := o.runsAs(name, pod)
	restarted, err := o.restartedAt(ctx, name)
	if err != nil {
		return err
	}
	if restarted != "" {
		annotations[annotationRestartedAt] = restarted
	}
	return Apply(ctx, o.Seed, &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.Namespace(), Labels: labels(name)},
		Spec: appsv1.DeploymentSpec{
			Replicas:             &replicas,
			RevisionHistoryLimit: ptr.To[int32](1),
			Selector:             selector(name),
			// Two API servers of one shoot at a time are fine on one etcd, but memory is dear: replace, don't surge.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels(name), Annotations: annotations},
				Spec: o.asUser(pod)},
		},
	})
}

// annotationKubernetesVersion names the version that a Kubernetes program stands for. Its change starts the program
// anew, as another binary would.
const annotationKubernetesVersion = "transplant.dev/kubernetes-version"

// annotationExternalName is the name that the API server's certificate has been given with the shoot's domain. It
// starts the program anew that knows the certificate of before.
const annotationExternalName = "transplant.dev/external-name"

func (o *Operation) runsAs(name string, pod corev1.PodSpec) map[string]string {
	if pod.Containers[0].Image != o.KubernetesImage {
		return map[string]string{}
	}
	annotations := map[string]string{annotationKubernetesVersion: o.Shoot.Spec.Kubernetes.Version}
	if host := o.ExternalHost(); host != "" && name == DeploymentKubeAPIServer {
		annotations[annotationExternalName] = host
	}
	return annotations
}

// apiServerLives does not ask whether etcd answers: an API server that is started anew mends no etcd. On a busy machine
// its start takes away the processor time that the others lack, so that they are started anew as well. The limits are
// those of kubeadm (four minutes to start) and Gardener (15 s, three times).
func apiServerLives(period, failures int32) *corev1.Probe {
	probe := httpProbe(corev1.URISchemeHTTPS, "/livez?exclude=etcd", apiServerPort, failures)
	probe.PeriodSeconds, probe.TimeoutSeconds = period, 15
	return probe
}
