package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

const (
	// EtcdName is the StatefulSet of the shoot's main etcd.
	EtcdName = "etcd-main"

	// SecretKubeconfigGarden and SecretKubeconfigCloud hold the ways of a control plane to the two authorities.
	SecretKubeconfigGarden = "kubeconfig-garden"
	SecretKubeconfigCloud  = "kubeconfig-cloud"
	// SecretEtcdBackup is written by the BackupEntry extension; SecretSourceEtcdBackup by that of the source entry.
	SecretEtcdBackup       = "etcd-backup"
	SecretSourceEtcdBackup = "source-etcd-backup"

	etcdVolumeDir = "/var/etcd/data"
	etcdDataDir   = etcdVolumeDir + "/etcd"
	etcdSocketDir = "/var/etcd/run"
	etcdEndpoint  = "unix:///var/etcd/run/etcd.sock"
)

// DeployEtcd deploys the shoot's etcd with its backup sidecar and its guard, for the epoch of this run. The init
// container keeps the data directory if it belongs to the epoch, else it restores from the bucket
// (docs/ownership.md#o6, docs/ownership.md#o7).
func (o *Operation) DeployEtcd(ctx context.Context, replicas int32) error {
	if o.Epoch == 0 {
		return errors.New("deploy etcd: this run holds no ownership epoch")
	}
	volumes, mounts := secretVolumes(secretEtcdServer, SecretKubeconfigGarden, SecretKubeconfigCloud, SecretEtcdBackup)
	volumes = append(volumes,
		corev1.Volume{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	shared := []corev1.VolumeMount{{Name: "data", MountPath: etcdVolumeDir}, {Name: "run", MountPath: etcdSocketDir}}
	_, own := secretVolumes(secretEtcdServer) // of etcd, which needs no other
	mounts = append(mounts, shared...)
	err := Apply(ctx, o.Seed, &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: EtcdName, Namespace: o.Namespace(), Labels: labels(EtcdName),
			Annotations: map[string]string{constants.OwnershipEpoch: strconv.FormatInt(o.Epoch, 10)},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas:    &replicas,
			ServiceName: ServiceEtcdClient,
			Selector:    selector(EtcdName),
			// A pod that is not ready, as one whose epoch is over, is replaced all the same (docs/ownership.md#o11).
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(EtcdName)},
				Spec: o.asUser(corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](10),
					Volumes:                       volumes,
					InitContainers:                []corev1.Container{o.restoreContainer(mounts)},
					Containers: []corev1.Container{
						o.etcdContainer(append(own, shared...)), o.backupContainer(mounts), o.guardContainer(mounts),
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
	if err != nil || replicas == 0 {
		return err
	}
	return o.Advance(ctx, tenure.Begun, o.Epoch) // for when it is gone: see tenure.Tenure.Begun
}

func (o *Operation) etcdContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "etcd", Image: o.KubernetesImage,
		Command: []string{"etcd",
			"--name=" + EtcdName,
			"--data-dir=" + etcdDataDir,
			// Only the guard and the sidecar, in the same pod, come to this socket.
			"--listen-client-urls=" + etcdEndpoint,
			// etcd advertises no socket, and nobody asks a single member where it is.
			"--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=https://$(POD_IP):2380",
			"--initial-advertise-peer-urls=https://$(POD_IP):2380",
			"--initial-cluster=" + EtcdName + "=https://$(POD_IP):2380",
			// A single member has no peers: nobody else comes in past the guard.
			"--peer-client-cert-auth",
			"--peer-cert-allowed-cn=" + string(access.Guard),
			"--peer-trusted-ca-file=" + secretFile(secretEtcdServer, keyCACert),
			"--peer-cert-file=" + secretFile(secretEtcdServer, keyCert),
			"--peer-key-file=" + secretFile(secretEtcdServer, keyKey),
			"--auto-compaction-mode=periodic", "--auto-compaction-retention=30m",
		},
		Env: []corev1.EnvVar{podIP}, VolumeMounts: mounts,
	}
}

func (o *Operation) backupFlags() []string {
	return []string{
		"--endpoint=" + etcdEndpoint,
		"--data-dir=" + etcdDataDir,
		"--epoch=" + strconv.FormatInt(o.Epoch, 10),
		"--cloud-kubeconfig=" + secretFile(SecretEtcdBackup, "kubeconfig"),
		"--bucket-file=" + secretFile(SecretEtcdBackup, "bucketName"),
		"--prefix=" + o.BackupEntryName() + "/" + EtcdName,
	}
}

func (o *Operation) restoreContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "restore", Image: o.Image,
		Command:      append([]string{"transplant", "etcd-backup", "restore"}, o.backupFlags()...),
		Env:          []corev1.EnvVar{podIP},
		VolumeMounts: mounts,
	}
}

func (o *Operation) backupContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "backup", Image: o.Image,
		Command: append([]string{"transplant", "etcd-backup", "serve",
			"--listen=$(POD_IP):" + strconv.Itoa(backupPort),
			"--api-listen=$(POD_IP):" + strconv.Itoa(access.SidecarPort),
			"--delta-interval=" + o.DeltaInterval.String(),
			"--full-interval=" + o.FullSnapshotInterval.String(),
		}, append(serverFiles(), o.backupFlags()...)...),
		Env: []corev1.EnvVar{podIP}, VolumeMounts: mounts,
		Ports:          []corev1.ContainerPort{{Name: portMetrics + "-backup", ContainerPort: backupPort}},
		ReadinessProbe: httpProbe(corev1.URISchemeHTTP, "/healthz", backupPort, 3),
	}
}

func (o *Operation) guardContainer(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: "guard", Image: o.Image,
		Command: append([]string{"transplant", "etcd-guard",
			fmt.Sprintf("--listen=$(POD_IP):%d", etcdClientPort),
			fmt.Sprintf("--http-listen=$(POD_IP):%d", guardPort),
			fmt.Sprintf("--api-listen=$(POD_IP):%d", access.GuardPort),
			"--endpoint=" + etcdEndpoint,
			"--data-dir=" + etcdDataDir,
			"--garden-kubeconfig=" + secretFile(SecretKubeconfigGarden, "kubeconfig"),
			"--cloud-kubeconfig=" + secretFile(SecretKubeconfigCloud, "kubeconfig"),
			"--lease=" + o.Shoot.Namespace + "/" + o.ownerLeaseName(),
			"--owner-record=" + o.ownerRecordName(),
			"--owner=" + string(o.SeedObject.UID),
			"--epoch=" + strconv.FormatInt(o.Epoch, 10),
			"--owner-check-interval=" + o.OwnerCheckInterval.String(),
			"--owner-check-timeout=" + o.OwnerCheckTimeout.String(),
			fmt.Sprintf("--backup-url=https://$(POD_IP):%d", access.SidecarPort),
		}, serverFiles()...),
		Env: []corev1.EnvVar{podIP}, VolumeMounts: mounts,
		Ports:          []corev1.ContainerPort{{Name: portMetrics + "-guard", ContainerPort: guardPort}},
		ReadinessProbe: httpProbe(corev1.URISchemeHTTP, "/readyz", guardPort, 3),
	}
}

// serverFiles are the credentials that guard and sidecar serve with.
func serverFiles() []string {
	return []string{
		"--ca-file=" + secretFile(secretEtcdServer, keyCACert),
		"--cert-file=" + secretFile(secretEtcdServer, keyCert),
		"--key-file=" + secretFile(secretEtcdServer, keyKey),
	}
}

// WaitEtcd waits until etcd is ready behind its guard.
func (o *Operation) WaitEtcd(ctx context.Context) error {
	return o.Until(ctx, 5*time.Minute, "etcd", func(ctx context.Context) error {
		set := &appsv1.StatefulSet{}
		if err := o.Seed.Get(ctx, o.key(EtcdName), set); err != nil {
			return err
		}
		if set.Status.ObservedGeneration < set.Generation || set.Status.ReadyReplicas < ptr.Deref(set.Spec.Replicas, 1) {
			return fmt.Errorf("%d of %d replicas are ready", set.Status.ReadyReplicas, ptr.Deref(set.Spec.Replicas, 1))
		}
		return nil
	})
}
