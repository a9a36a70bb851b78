package cloudcontroller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// zone is where the volume has to be: with the node that the scheduler has selected, where the class leaves it to it.
// It is not decided before that. A node that is gone is given back to the scheduler. Where the class does not wait for
// a node, it is where the class allows it, or where the first node is.
func (r *Claims) zone(ctx context.Context, claim *corev1.PersistentVolumeClaim,
	class *storagev1.StorageClass) (zone string, decided bool, err error) {
	name := claim.Annotations[annotationSelectedNode]
	if name == "" {
		if ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate) != storagev1.VolumeBindingImmediate {
			return "", false, nil
		}
		zone, err := r.anyZone(ctx, class)
		return zone, err == nil, err
	}
	node := &corev1.Node{}
	err = r.Shoot.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return "", false, patch.LockedObject(ctx, r.Shoot, claim, func() {
			delete(claim.Annotations, annotationSelectedNode)
		})
	}
	if err != nil {
		return "", false, fmt.Errorf("read the selected node: %w", err)
	}
	return node.Labels[corev1.LabelTopologyZone], true, nil
}

func (r *Claims) anyZone(ctx context.Context, class *storagev1.StorageClass) (string, error) {
	for _, term := range class.AllowedTopologies {
		for _, requirement := range term.MatchLabelExpressions {
			if requirement.Key == corev1.LabelTopologyZone && len(requirement.Values) > 0 {
				return requirement.Values[0], nil
			}
		}
	}
	nodes := &corev1.NodeList{}
	if err := r.Shoot.List(ctx, nodes); err != nil {
		return "", fmt.Errorf("list the nodes: %w", err)
	}
	if len(nodes.Items) == 0 {
		return "", fmt.Errorf("choose a zone for the volume: StorageClass %q does not wait for a node, and there is none yet",
			class.Name)
	}
	first := slices.MinFunc(nodes.Items, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return first.Labels[corev1.LabelTopologyZone], nil
}

// volume finds or makes the volume of the claim.
func (r *Claims) volume(ctx context.Context, claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
	zone string) (*cloud.Volume, error) {
	found, err := r.volumes(ctx, claim)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return &found[0], nil
	}
	var made *cloud.Volume
	err = r.own(ctx, func(ctx context.Context, tags map[string]string) error {
		tags[cloud.TagName], tags[cloud.TagFor] = volumeName(claim), "PersistentVolumeClaim "+claim.Namespace+"/"+claim.Name
		size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		wanted := &cloud.Volume{Size: size.String(), Type: class.Parameters["type"], Zone: zone, Tags: tags}
		made, err = r.Cloud.Volumes().Create(ctx, wanted, cloud.ClientToken(volumeName(claim)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create the volume: %w", err)
	}
	return made, nil
}

// volumes are what there is in the cloud for the claim.
func (r *Claims) volumes(ctx context.Context, claim *corev1.PersistentVolumeClaim) ([]cloud.Volume, error) {
	found, err := r.Cloud.Volumes().List(r.scoped(ctx),
		cloud.Filter{Tags: map[string]string{TagShoot: r.Account.Shoot, cloud.TagName: volumeName(claim)}})
	if err != nil {
		return nil, fmt.Errorf("look for the volume: %w", err)
	}
	return found, nil
}

func persistentVolume(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
	volume *cloud.Volume) *corev1.PersistentVolume {
	made := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: volumeName(claim), Finalizers: []string{finalizerProvisioner},
			Annotations: map[string]string{annotationProvisionedBy: cloud.CSIDriver},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, StorageClassName: class.Name, VolumeMode: claim.Spec.VolumeMode,
			MountOptions:                  class.MountOptions,
			PersistentVolumeReclaimPolicy: ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: cloud.CSIDriver,
				VolumeHandle: volume.ID}},
		},
	}
	if volume.Zone != "" {
		made.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{
			Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone,
					Operator: corev1.NodeSelectorOpIn,
					Values:   []string{volume.Zone}}},
			}}}}
	}
	return made
}
