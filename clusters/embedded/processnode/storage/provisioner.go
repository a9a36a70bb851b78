// Package storage provisions folders of the host as PersistentVolumes, for claims of the classes that name it.
//
// It binds nothing, which is the volume binder's work, and mounts nothing. Sizes are not enforced.
package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

const (
	// Provisioner is the name by which storage classes ask for folders.
	Provisioner = "transplant.dev/folder"
	// ClassName is the default class.
	ClassName = "standard"

	annotationProvisioner   = "volume.kubernetes.io/storage-provisioner" // set by the volume binder on claims
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
	annotationSelectedNode  = "volume.kubernetes.io/selected-node" // set by the scheduler on claims
)

// Folders provisions below one folder. Its fields are set before Watch.
type Folders struct {
	Client kubernetes.Interface
	Root   string // an absolute path
	Node   string // where the volumes are
	// Machine is the disk of the machine whose Node this is, which holds Root: the cluster has other nodes with folders of
	// their own, and each makes those of its pods. Empty for the only node of a cluster.
	Machine  string
	Recorder record.EventRecorder
	Log      logr.Logger

	queue   workqueue.TypedRateLimitingInterface[item]
	claims  cache.Indexer
	volumes cache.Indexer
}

// item is a claim that may want a volume, or a volume that may have been given up.
type item struct {
	kind string
	name cache.ObjectName
}

// CreateClass creates the storage class, unless there is one of its name. It is the default one where there is only one
// node.
func (f *Folders) CreateClass(ctx context.Context) error {
	mode, reclaim, isDefault := storagev1.VolumeBindingImmediate, corev1.PersistentVolumeReclaimDelete, f.Machine == ""
	if !isDefault {
		mode = storagev1.VolumeBindingWaitForFirstConsumer
	}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: ClassName,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": strconv.FormatBool(isDefault)}},
		Provisioner:       Provisioner,
		VolumeBindingMode: &mode,
		ReclaimPolicy:     &reclaim,
	}
	if _, err := f.Client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the storage class %q: %w", ClassName, err)
	}
	return nil
}

// Watch makes the provisioner follow claims and volumes. It is called before the informers start.
func (f *Folders) Watch(claims, volumes cache.SharedIndexInformer) error {
	f.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[item]())
	f.claims, f.volumes = claims.GetIndexer(), volumes.GetIndexer()
	for kind, informer := range map[string]cache.SharedIndexInformer{"claim": claims, "volume": volumes} {
		enqueue := func(object any) {
			if name, err := cache.ObjectToName(object); err == nil {
				f.queue.Add(item{kind, name})
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    enqueue,
			UpdateFunc: func(_, object any) { enqueue(object) },
		})
		if err != nil {
			return fmt.Errorf("watch each %s: %w", kind, err)
		}
	}
	return nil
}

// Run provisions and reclaims until ctx is done.
func (f *Folders) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, f.queue.ShutDown)
	defer stop()
	for {
		next, ended := f.queue.Get()
		if ended {
			return
		}
		work := f.provision
		if next.kind == "volume" {
			work = f.reclaim
		}
		if err := work(ctx, next.name); err != nil {
			f.Log.Error(err, "Storage is not in order", next.kind, next.name.String())
			f.queue.AddRateLimited(next)
		} else {
			f.queue.Forget(next)
		}
		f.queue.Done(next)
	}
}

// provision makes a folder and a volume for a claim that asks for one.
func (f *Folders) provision(ctx context.Context, name cache.ObjectName) error {
	object, exists, err := f.claims.GetByKey(name.String())
	if err != nil || !exists {
		return err
	}
	claim := object.(*corev1.PersistentVolumeClaim)
	if claim.Annotations[annotationProvisioner] != Provisioner || claim.Spec.VolumeName != "" ||
		claim.DeletionTimestamp != nil || f.Machine != "" && claim.Annotations[annotationSelectedNode] != f.Node {
		return nil
	}
	if why := unsupported(claim); why != nil {
		f.Recorder.Eventf(claim, corev1.EventTypeWarning, "ProvisioningFailed", "%v", why)
		return nil
	}
	class, err := f.Client.StorageV1().StorageClasses().Get(ctx, *claim.Spec.StorageClassName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the storage class: %w", err)
	}
	volume := f.volumeFor(claim, class)
	folder := filepath.Join(f.Machine, volume.Spec.HostPath.Path)
	if err := os.MkdirAll(f.Root, 0o700); err != nil { // closed to others, as the volumes are open to all users of pods
		return fmt.Errorf("make the folder of volumes: %w", err)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("make the folder of the volume: %w", err)
	}
	if err := os.Chmod(folder, 0o777); err != nil { // whatever the umask
		return fmt.Errorf("open the folder of the volume to all: %w", err)
	}
	if _, err := f.Client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil // the claim is about to be bound to it
		}
		return fmt.Errorf("create the volume: %w", err)
	}
	f.Recorder.Eventf(claim, corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume %s",
		volume.Name)
	return nil
}

func unsupported(claim *corev1.PersistentVolumeClaim) error {
	switch {
	case claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock:
		return errors.New("volumes of mode Block are not available")
	case claim.Spec.Selector != nil:
		return errors.New("a selector cannot be met by a new volume")
	case claim.Spec.DataSource != nil || claim.Spec.DataSourceRef != nil:
		return errors.New("data sources are not available")
	}
	return nil
}

func (f *Folders) volumeFor(claim *corev1.PersistentVolumeClaim,
	class *storagev1.StorageClass) *corev1.PersistentVolume {
	kind, reclaim := corev1.HostPathDirectoryOrCreate, corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	folder := strings.Join([]string{claim.Namespace, claim.Name, string(claim.UID)}, "_")
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{annotationProvisionedBy: Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      claim.Spec.Resources.Requests,
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			VolumeMode:                    claim.Spec.VolumeMode,
			MountOptions:                  class.MountOptions,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
				ResourceVersion: claim.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: strings.TrimPrefix(filepath.Join(f.Root, folder), f.Machine),
					Type: &kind},
			},
			NodeAffinity: onNode(f.Node),
		},
	}
}

func onNode(name string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn,
			Values: []string{name}}},
	}}}}
}

// reclaim removes a volume whose claim is gone, and what is in it.
func (f *Folders) reclaim(ctx context.Context, name cache.ObjectName) error {
	object, exists, err := f.volumes.GetByKey(name.String())
	if err != nil || !exists {
		return err
	}
	volume := object.(*corev1.PersistentVolume)
	if volume.Annotations[annotationProvisionedBy] != Provisioner || volume.Status.Phase != corev1.VolumeReleased ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || volume.DeletionTimestamp != nil {
		return nil
	}
	// Only what is certainly ours is removed.
	if volume.Spec.HostPath == nil || f.Machine != "" && !reflect.DeepEqual(volume.Spec.NodeAffinity, onNode(f.Node)) {
		return nil
	}
	folder := filepath.Join(f.Machine, volume.Spec.HostPath.Path)
	if filepath.Dir(folder) != f.Root {
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the folder of the volume: %w", err)
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}}
	if err := f.Client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, options); err != nil &&
		!apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the volume: %w", err)
	}
	return nil
}
