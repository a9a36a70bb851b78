package step

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// annotationBefore keeps on a cloud profile how it was before the first story that changed it: stories share landscapes.
const annotationBefore = "scenario.transplant.dev/before"

// patchCloudProfile merges a patch into the cloud profile, and into its annotations what it was.
func (s *Stage) patchCloudProfile(ctx context.Context, name string, patch map[string]any) error {
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	profile := &gardencorev1beta1.CloudProfile{}
	if err := garden.Get(ctx, client.ObjectKey{Name: name}, profile); err != nil {
		return fmt.Errorf("read the cloud profile %q: %w", name, err)
	}
	if _, kept := profile.Annotations[annotationBefore]; !kept {
		before, err := json.Marshal(profile.Spec)
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

// RestoreCloudProfiles takes back what stories have changed about cloud profiles. No shoot may need the change any more.
func (s *Stage) RestoreCloudProfiles(ctx context.Context) error {
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	profiles := &gardencorev1beta1.CloudProfileList{}
	if err := garden.List(ctx, profiles); err != nil {
		return fmt.Errorf("list the cloud profiles: %w", err)
	}
	for i := range profiles.Items {
		profile := &profiles.Items[i]
		before, changed := profile.Annotations[annotationBefore]
		if !changed {
			continue
		}
		restored := profile.DeepCopy()
		delete(restored.Annotations, annotationBefore)
		restored.Spec = gardencorev1beta1.CloudProfileSpec{}
		if err := json.Unmarshal([]byte(before), &restored.Spec); err != nil {
			return fmt.Errorf("read what the cloud profile %q was: %w", profile.Name, err)
		}
		if err := garden.Patch(ctx, restored, client.MergeFrom(profile)); err != nil {
			return fmt.Errorf("restore the cloud profile %q: %w", profile.Name, err)
		}
	}
	return nil
}
