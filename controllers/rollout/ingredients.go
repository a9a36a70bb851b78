package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// ingredient is something whose change makes nodes roll.
type ingredient struct {
	field, value string
	// inPlace is whether nodes can be updated to it in place. Pools that are updated in place cannot change the others.
	inPlace bool
	// onlySet is whether it counts only where it has a value: so that it makes no nodes roll by being looked at.
	onlySet bool
}

// Fingerprint stands for everything that makes the nodes of a pool roll: it changes exactly if they have to. That of a
// pool that is updated in place leaves out what is updated in place.
func Fingerprint(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) (string, error) {
	if worker.UpdatesInPlace() {
		return hash([]ingredient{{field: "name", value: worker.Name}}), nil
	}
	all, err := ingredients(shoot, worker)
	if err != nil {
		return "", err
	}
	return hash(all), nil
}

// InPlaceFingerprint stands for everything to which the nodes of a pool can be updated in place.
func InPlaceFingerprint(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) (string, error) {
	all, err := ingredients(shoot, worker)
	if err != nil {
		return "", err
	}
	return hash(slices.DeleteFunc(all, func(i ingredient) bool { return !i.inPlace })), nil
}

// hash is 16 hexadecimal digits of the values, not of where they are set. Each has its length in front, so that no two
// lists read the same.
func hash(all []ingredient) string {
	sum := sha256.New()
	for _, i := range all {
		if i.onlySet && i.value == "" {
			continue
		}
		fmt.Fprintf(sum, "%d:%s", len(i.value), i.value)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// ingredients lists what makes the nodes of a pool roll: always all of them, in the same order.
func ingredients(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) ([]ingredient, error) {
	minor, err := minorVersion(shoot, worker)
	if err != nil {
		return nil, err
	}
	imageName, imageVersion := image(worker)
	volumeType, volumeSize := volume(worker)
	runtime := ""
	if worker.CRI != nil {
		runtime = string(worker.CRI.Name)
	}
	all := []ingredient{
		{field: kubernetesField(worker, "version"), value: minor, inPlace: true},
		{field: poolField(worker, "machine.type"), value: worker.Machine.Type},
		{field: poolField(worker, "machine.image.name"), value: imageName},
		{field: poolField(worker, "machine.image.version"), value: imageVersion, inPlace: true},
		{field: poolField(worker, "volume.type"), value: volumeType},
		{field: poolField(worker, "volume.size"), value: volumeSize},
		{field: poolField(worker, "cri.name"), value: runtime},
		{field: "spec.systemComponents.nodeLocalDNS.enabled", value: nodeLocalDNS(shoot)},
	}
	all = append(all, credentials(shoot, worker)...)
	all = append(all, kubelet(shoot, worker)...)
	return append(all, ingredient{field: "metadata.annotations[" + constants.WorkersRolledOut + "]",
		value: notes(shoot)[worker.Name], onlySet: true}), nil
}

// poolField is the path of a pool's field.
func poolField(worker *gardencorev1beta1.Worker, name string) string {
	return fmt.Sprintf("spec.provider.workers[%s].%s", worker.Name, name)
}

// kubernetesField is the path of a field that the pool has, or else the shoot.
func kubernetesField(worker *gardencorev1beta1.Worker, name string) string {
	if worker.Kubernetes != nil && (name == "version" && worker.Kubernetes.Version != nil || name != "version" &&
		worker.Kubernetes.Kubelet != nil) {
		return poolField(worker, "kubernetes."+name)
	}
	return "spec.kubernetes." + name
}

// minorVersion is the version of the pool's kubelets without its patch: that changes in place for all.
func minorVersion(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) (string, error) {
	text := worker.KubernetesVersion(shoot)
	v, err := semver.NewVersion(text)
	if err != nil {
		return "", fmt.Errorf("read the Kubernetes version %q (%s): %w", text, kubernetesField(worker, "version"), err)
	}
	return fmt.Sprintf("%d.%d", v.Major(), v.Minor()), nil
}

func image(worker *gardencorev1beta1.Worker) (name, version string) {
	if worker.Machine.Image == nil {
		return "", ""
	}
	if worker.Machine.Image.Version != nil {
		version = *worker.Machine.Image.Version
	}
	return worker.Machine.Image.Name, version
}

func volume(worker *gardencorev1beta1.Worker) (kind, size string) {
	if worker.Volume == nil {
		return "", ""
	}
	if worker.Volume.Type != nil {
		kind = *worker.Volume.Type
	}
	return kind, worker.Volume.VolumeSize
}

func nodeLocalDNS(shoot *gardencorev1beta1.Shoot) string {
	components := shoot.Spec.SystemComponents
	if components == nil || components.NodeLocalDNS == nil || !components.NodeLocalDNS.Enabled {
		return ""
	}
	return "true"
}

// credentials are when rotations began that the nodes have to follow. A pool that is listed as pending follows in its
// own time.
func credentials(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) []ingredient {
	const path = "status.credentials.rotation."
	ca := ingredient{field: path + "certificateAuthorities.lastInitiationTime", inPlace: true}
	key := ingredient{field: path + "serviceAccountKey.lastInitiationTime", inPlace: true}
	if shoot.Status.Credentials != nil && shoot.Status.Credentials.Rotation != nil {
		rotation := shoot.Status.Credentials.Rotation
		if r := rotation.CertificateAuthorities; r != nil {
			ca.value = initiation(worker, r.PendingWorkersRollouts, r.LastInitiationTime)
		}
		if r := rotation.ServiceAccountKey; r != nil {
			key.value = initiation(worker, r.PendingWorkersRollouts, r.LastInitiationTime)
		}
	}
	return []ingredient{ca, key}
}

func initiation(worker *gardencorev1beta1.Worker, pending []gardencorev1beta1.PendingWorkersRollout,
	last *metav1.Time) string {
	for _, pool := range pending {
		if pool.Name == worker.Name {
			last = pool.LastInitiationTime
		}
	}
	if last == nil {
		return ""
	}
	return last.UTC().Format(time.RFC3339)
}
