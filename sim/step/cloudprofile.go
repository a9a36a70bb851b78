package step

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// annotationBefore keeps on a cloud profile how it was before the first run that changed it: runs share landscapes.
const annotationBefore = "scenario.transplant.dev/before"

var cloudProfileKind = gardencorev1beta1.SchemeGroupVersion.WithKind("CloudProfile")

// patchCloudProfile merges a patch into the cloud profile, and into its annotations what it was.
func (s *Environment) patchCloudProfile(ctx context.Context, name string, patch map[string]any) error {
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	profile := &unstructured.Unstructured{} // our types may not know all of its fields
	profile.SetGroupVersionKind(cloudProfileKind)
	if err := garden.Get(ctx, client.ObjectKey{Name: name}, profile); err != nil {
		return fmt.Errorf("read the cloud profile %q: %w", name, err)
	}
	if _, kept := profile.GetAnnotations()[annotationBefore]; !kept {
		before, err := json.Marshal(profile.Object["spec"])
		if err != nil {
			return fmt.Errorf("marshal the cloud profile %q: %w", name, err)
		}
		patch = annotated(patch, annotationBefore, string(before))
	}
	return s.patch(ctx, fmt.Sprintf("the cloud profile %q", name), profile, patch)
}

// annotated is the patch with an annotation added; the patch itself stays as it is.
func annotated(patch map[string]any, key, value string) map[string]any {
	patch = maps.Clone(patch)
	metadata, _ := patch["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[key] = value
	metadata["annotations"], patch["metadata"] = annotations, metadata
	return patch
}

// RestoreCloudProfiles reverts what runs have changed about cloud profiles. No shoot may need the change any more.
func (s *Environment) RestoreCloudProfiles(ctx context.Context) error {
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	profiles := &unstructured.UnstructuredList{}
	profiles.SetGroupVersionKind(cloudProfileKind)
	if err := garden.List(ctx, profiles); err != nil {
		return fmt.Errorf("list the cloud profiles: %w", err)
	}
	for i := range profiles.Items {
		profile := &profiles.Items[i]
		before, changed := profile.GetAnnotations()[annotationBefore]
		if !changed {
			continue
		}
		var spec map[string]any
		if err := json.Unmarshal([]byte(before), &spec); err != nil {
			return fmt.Errorf("read what the cloud profile %q was: %w", profile.GetName(), err)
		}
		restored := profile.DeepCopy()
		unstructured.RemoveNestedField(restored.Object, "metadata", "annotations", annotationBefore)
		restored.Object["spec"] = spec
		if err := garden.Patch(ctx, restored, client.MergeFrom(profile)); err != nil {
			return fmt.Errorf("restore the cloud profile %q: %w", profile.GetName(), err)
		}
	}
	return nil
}
