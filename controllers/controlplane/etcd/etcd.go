// Package etcd deploys a shoot's etcd with its guard and its backup sidecar. What these do is in the packages below
// controllers/etcd.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// Etcd is the shoot's etcd, with its guard and its backup sidecar.
type Etcd struct {
	*scope.Scope
	workloads *workload.Workloads
	secrets   *secrets.Secrets
	ownership *owner.Ownership
}

// New makes it over a scope.
func New(s *scope.Scope) *Etcd {
	return &Etcd{s, &workload.Workloads{Scope: s}, &secrets.Secrets{Scope: s}, owner.New(s)}
}

const (
	volumeDir = "/var/etcd/data"
	dataDir   = volumeDir + "/etcd"
	socketDir = "/var/etcd/run"
	endpoint  = "unix:///var/etcd/run/etcd.sock"
)

// Deploy deploys the shoot's etcd with its backup sidecar and its guard, for the epoch of this run. The init
// container keeps the data directory if it belongs to the epoch, else it restores from the bucket
// (docs/ownership.md#o6, docs/ownership.md#o7).
func (e *Etcd) Deploy(ctx context.Context) error {
	if e.Epoch == 0 {
		return errors.New("deploy etcd: this run holds no ownership epoch")
	}
	replicas := e.Replicas()
	volumes, mounts := workload.SecretVolumes(secrets.EtcdServer, namespace.KubeconfigGarden,
		namespace.KubeconfigCloud, backupentry.SecretBackup)
	volumes = append(volumes,
		corev1.Volume{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	shared := []corev1.VolumeMount{{Name: "data", MountPath: volumeDir}, {Name: "run", MountPath: socketDir}}
	_, own := workload.SecretVolumes(secrets.EtcdServer) // of etcd, which needs no other
	mounts = append(mounts, shared...)
	err := objects.Apply(ctx, e.Seed, &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: workload.Etcd, Namespace: e.Namespace(), Labels: workload.Labels(workload.Etcd),
			Annotations: map[string]string{constants.OwnershipEpoch: strconv.FormatInt(e.Epoch, 10)},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas:    &replicas,
			ServiceName: workload.ServiceEtcdClient,
			Selector:    workload.Selector(workload.Etcd),
			// A pod that is not ready, as one whose epoch is over, is replaced all the same (docs/ownership.md#o11).
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: workload.Labels(workload.Etcd)},
				Spec: e.workloads.AsUser(corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](10),
					Volumes:                       volumes,
					InitContainers:                []corev1.Container{e.restoreContainer(mounts)},
					Containers: []corev1.Container{
						e.etcdContainer(append(own, shared...)), e.backupContainer(mounts), e.guardContainer(mounts),
					},
				}),
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceStorage: resource.MustParse("10Gi"),
					}},
				},
			}},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
				WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
		},
	})
	if err != nil {
		return err
	}
	phase := tenure.Begun // noted, so that it is known if the StatefulSet is lost
	if replicas == 0 {
		phase = tenure.Deployed
	}
	return e.ownership.Advance(ctx, phase, e.Epoch)
}

// Wait waits until etcd is ready behind its guard.
func (e *Etcd) Wait(ctx context.Context) error {
	return e.Await(ctx, 5*time.Minute, "etcd", func(ctx context.Context, seed client.Reader) error {
		set := &appsv1.StatefulSet{}
		if err := seed.Get(ctx, e.Key(workload.Etcd), set); err != nil {
			return err
		}
		if set.Status.ObservedGeneration < set.Generation || set.Status.ReadyReplicas < ptr.Deref(set.Spec.Replicas, 1) {
			return fmt.Errorf("%d of %d replicas are ready", set.Status.ReadyReplicas, ptr.Deref(set.Spec.Replicas, 1))
		}
		return nil
	})
}

// Scale sets the replicas of etcd; a missing one is left alone.
func (e *Etcd) Scale(ctx context.Context, replicas int32) error {
	return e.workloads.ScaleObject(ctx, &appsv1.StatefulSet{ObjectMeta: e.Meta(workload.Etcd)}, replicas)
}

// Delete deletes etcd and its data, and waits until its pod is gone.
func (e *Etcd) Delete(ctx context.Context) error {
	return e.workloads.DeleteObject(ctx, &appsv1.StatefulSet{ObjectMeta: e.Meta(workload.Etcd)}, workload.Etcd)
}

func (e *Etcd) etcdContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "etcd", Image: e.KubernetesImage,
		Command: []string{"etcd",
			"--name=" + workload.Etcd,
			"--data-dir=" + dataDir,
			// Only the guard and the sidecar, in the same pod, come to this socket.
			"--listen-client-urls=" + endpoint,
			// etcd advertises no socket, and nobody asks a single member where it is.
			"--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=https://$(POD_IP):2380",
			"--initial-advertise-peer-urls=https://$(POD_IP):2380",
			"--initial-cluster=" + workload.Etcd + "=https://$(POD_IP):2380",
			// A single member has no peers: nobody else comes in past the guard.
			"--peer-client-cert-auth",
			"--peer-cert-allowed-cn=" + string(access.Guard),
			"--peer-trusted-ca-file=" + workload.SecretFile(secrets.EtcdServer, secrets.KeyCACert),
			"--peer-cert-file=" + workload.SecretFile(secrets.EtcdServer, secrets.KeyCert),
			"--peer-key-file=" + workload.SecretFile(secrets.EtcdServer, secrets.KeyKey),
			"--auto-compaction-mode=periodic", "--auto-compaction-retention=30m",
		},
		Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts,
	}
}

func (e *Etcd) backupFlags() []string {
	return []string{
		"--endpoint=" + endpoint,
		"--data-dir=" + dataDir,
		"--epoch=" + strconv.FormatInt(e.Epoch, 10),
		"--cloud-kubeconfig=" + workload.SecretFile(backupentry.SecretBackup, "kubeconfig"),
		"--bucket-file=" + workload.SecretFile(backupentry.SecretBackup, "bucketName"),
		"--prefix=" + e.BackupEntryName() + "/" + workload.Etcd,
	}
}

func (e *Etcd) restoreContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "restore", Image: e.Image,
		Command:      append([]string{"transplant", "etcd-backup", "restore"}, e.backupFlags()...),
		Env:          []corev1.EnvVar{workload.PodIP},
		VolumeMounts: mounts,
	}
}

func (e *Etcd) backupContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "backup", Image: e.Image,
		Command: append([]string{"transplant", "etcd-backup", "serve",
			"--listen=$(POD_IP):" + strconv.Itoa(workload.PortBackup),
			"--api-listen=$(POD_IP):" + strconv.Itoa(access.SidecarPort),
			"--delta-interval=" + e.DeltaInterval.String(),
			"--full-interval=" + e.FullSnapshotInterval.String(),
		}, append(serverFiles(), e.backupFlags()...)...),
		Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts,
		Ports: []corev1.ContainerPort{{Name: workload.PortNameMetrics + "-backup",
			ContainerPort: workload.PortBackup}},
		ReadinessProbe: workload.HTTPProbe(corev1.URISchemeHTTP, "/healthz", workload.PortBackup, 3),
	}
}

func (e *Etcd) guardContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "guard", Image: e.Image,
		Command: append([]string{"transplant", "etcd-guard",
			fmt.Sprintf("--listen=$(POD_IP):%d", workload.PortEtcdClient),
			fmt.Sprintf("--http-listen=$(POD_IP):%d", workload.PortGuard),
			fmt.Sprintf("--api-listen=$(POD_IP):%d", access.GuardPort),
			"--endpoint=" + endpoint,
			"--data-dir=" + dataDir,
			"--garden-kubeconfig=" + workload.SecretFile(namespace.KubeconfigGarden, "kubeconfig"),
			"--cloud-kubeconfig=" + workload.SecretFile(namespace.KubeconfigCloud, "kubeconfig"),
			"--lease=" + e.Shoot.Namespace + "/" + e.OwnerLeaseName(),
			"--owner-record=" + e.OwnerRecordName(),
			"--owner=" + string(e.SeedObject.UID),
			"--epoch=" + strconv.FormatInt(e.Epoch, 10),
			"--owner-check-interval=" + e.OwnerCheckInterval.String(),
			"--owner-check-timeout=" + e.OwnerCheckTimeout.String(),
			fmt.Sprintf("--backup-url=https://$(POD_IP):%d", access.SidecarPort),
		}, serverFiles()...),
		Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts,
		Ports: []corev1.ContainerPort{{Name: workload.PortNameMetrics + "-guard",
			ContainerPort: workload.PortGuard}},
		ReadinessProbe: workload.HTTPProbe(corev1.URISchemeHTTP, "/readyz", workload.PortGuard, 3),
	}
}

// serverFiles are the credentials that guard and sidecar serve with.
func serverFiles() []string {
	return []string{
		"--ca-file=" + workload.SecretFile(secrets.EtcdServer, secrets.KeyCACert),
		"--cert-file=" + workload.SecretFile(secrets.EtcdServer, secrets.KeyCert),
		"--key-file=" + workload.SecretFile(secrets.EtcdServer, secrets.KeyKey),
	}
}

// ErrNoGuard says that this seed has no Service at which a guard of the shoot's etcd could be asked.
var ErrNoGuard = errors.New("there is no way to a guard")

// Guard is the way to the API of the guard of the shoot's etcd inside the seed.
type Guard struct {
	// URL is its base URL.
	URL string
	// Credentials are the gardenlet's.
	Credentials access.Credentials
}

// Guard of the shoot's etcd on this seed. The gardenlet has the key of the etcd CA, and issues its certificate itself.
func (e *Etcd) Guard(ctx context.Context) (Guard, error) {
	service := &corev1.Service{}
	err := e.Seed.Get(ctx, e.Key(workload.ServiceEtcdClient), service)
	if apierrors.IsNotFound(err) {
		return Guard{}, fmt.Errorf("%w: %w", ErrNoGuard, err)
	}
	if err != nil {
		return Guard{}, fmt.Errorf("read service %q: %w", workload.ServiceEtcdClient, err)
	}
	certificate, err := e.secrets.GuardClient(ctx)
	if err != nil {
		return Guard{}, err
	}
	return Guard{
		URL:         fmt.Sprintf("https://%s:%d", service.Spec.ClusterIP, access.GuardPort),
		Credentials: access.FromSecret(certificate),
	}, nil
}
