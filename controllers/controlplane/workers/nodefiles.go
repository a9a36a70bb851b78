package workers

import (
	"context"
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// unitFolder is where the units of systemd are on a machine.
const unitFolder = "/etc/systemd/system"

// nodeFiles are those that nodes of a pool have as they run: the files and units of its OperatingSystemConfig, as
// webhooks have changed it, and those that its extension has added in the status.
func (n *NodeConfigs) nodeFiles(ctx context.Context, worker gardencorev1beta1.Worker) ([]cloud.File, error) {
	config := n.settled[worker.Name]
	if config == nil {
		var err error
		config, err = n.operatingSystemConfig(worker, extensionsv1alpha1.OperatingSystemConfigPurposeReconcile)
		if err != nil {
			return nil, err
		}
		if err := n.Seed.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return nil, patch.Describe("read", config, n.Seed, err)
		}
	}
	var files []cloud.File
	for _, file := range slices.Concat(config.Spec.Files, config.Status.ExtensionFiles) {
		content, err := file.Content.Read(func(name string) (map[string][]byte, error) {
			secret := &corev1.Secret{}
			err := n.Seed.Get(ctx, n.Key(name), secret)
			return secret.Data, err
		})
		if err != nil {
			return nil, fmt.Errorf("read the file %s of OperatingSystemConfig %q: %w", file.Path, config.Name, err)
		}
		files = append(files, cloud.File{Path: file.Path, Content: content, Permissions: ptr.Deref(file.Permissions, 0),
			HostName: ptr.Deref(file.HostName, "")})
	}
	for _, unit := range slices.Concat(config.Spec.Units, config.Status.ExtensionUnits) {
		place := path.Join(unitFolder, unit.Name)
		if unit.Content != nil {
			files = append(files, cloud.File{Path: place, Content: []byte(*unit.Content), Permissions: 0o644})
		}
		for _, dropIn := range unit.DropIns {
			files = append(files, cloud.File{Path: path.Join(place+".d", dropIn.Name), Content: []byte(dropIn.Content),
				Permissions: 0o644})
		}
	}
	return files, nil
}
