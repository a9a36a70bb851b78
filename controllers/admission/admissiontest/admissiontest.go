// Package admissiontest is for tests of admission: objects of a garden in which everything may move, and requests about
// them. No program uses it.
package admissiontest

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Now is when the profile of tests is valid: tests judge requests at this time.
var Now = time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)

// Profile offers Kubernetes 1.34 to 1.36, and an image whose first version has expired.
func Profile() *gardencorev1beta1.CloudProfile {
	past, preview := &metav1.Time{Time: Now.Add(-time.Hour)}, gardencorev1beta1.ClassificationPreview
	containerd := []gardencorev1beta1.CRI{{Name: gardencorev1beta1.CRINameContainerD}}
	image := func(version string, expires *metav1.Time) gardencorev1beta1.MachineImageVersion {
		return gardencorev1beta1.MachineImageVersion{
			ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: version, ExpirationDate: expires},
			CRI:              containerd, Architectures: []string{"amd64"},
			InPlaceUpdates: &gardencorev1beta1.InPlaceUpdates{Supported: true, MinVersionForUpdate: ptr.To("1.0.0")},
		}
	}
	return &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "profile"},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type: "transplant",
			Regions: []gardencorev1beta1.Region{{Name: "here", Zones: []gardencorev1beta1.AvailabilityZone{
				{Name: "here-1"}, {Name: "here-2"}, {Name: "here-3"},
			}}},
			Kubernetes: gardencorev1beta1.KubernetesSettings{Versions: []gardencorev1beta1.ExpirableVersion{
				{Version: "1.34.1", ExpirationDate: past}, {Version: "1.34.2"}, {Version: "1.35.0"}, {Version: "1.36.3"},
				{Version: "1.36.4", Classification: &preview},
			}},
			MachineImages: []gardencorev1beta1.MachineImage{{
				Name: "simulated", Versions: []gardencorev1beta1.MachineImageVersion{image("1.0.0", past), image("1.1.0", nil),
					image("1.2.0", nil)},
			}},
			MachineTypes: []gardencorev1beta1.MachineType{
				{Name: "medium", CPU: resource.MustParse("4"), GPU: resource.MustParse("0"), Memory: resource.MustParse("16Gi")},
				{Name: "large", CPU: resource.MustParse("8"), GPU: resource.MustParse("0"), Memory: resource.MustParse("32Gi")},
			},
		},
	}
}

// Seed is a seed on which every shoot of tests can run.
func Seed(name string) gardencorev1beta1.Seed {
	return gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gardencorev1beta1.SeedSpec{
			Backup:   &gardencorev1beta1.Backup{Provider: "transplant"},
			Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here", Zones: []string{"1", "2", "3"}},
			DNS:      gardencorev1beta1.SeedDNS{Internal: &gardencorev1beta1.SeedDNSProviderConfig{Domain: "internal.test"}},
			Networks: gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16"},
		},
		Status: gardencorev1beta1.SeedStatus{Allocatable: corev1.ResourceList{"shoots": resource.MustParse("2")}},
	}
}

// Shoot is the shoot alpha, which runs on seed a.
func Shoot() *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{
		TypeMeta:   metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Shoot"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"},
		Spec: gardencorev1beta1.ShootSpec{
			SeedName: ptr.To("a"), Region: "here", Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3"},
			Provider: gardencorev1beta1.Provider{Type: "transplant", Workers: []gardencorev1beta1.Worker{{
				Name: "pool", Maximum: 3,
				Machine: gardencorev1beta1.Machine{
					Type: "medium", Image: &gardencorev1beta1.ShootMachineImage{Name: "simulated", Version: ptr.To("1.1.0")},
				},
			}}},
		},
		Status: gardencorev1beta1.ShootStatus{
			SeedName:      ptr.To("a"),
			LastOperation: &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded"},
		},
	}
}

// Pool changes a shoot to a Kubernetes version and a pool with an image.
func Pool(kubernetes, image string, more func(*gardencorev1beta1.Worker)) func(*gardencorev1beta1.Shoot) {
	return func(shoot *gardencorev1beta1.Shoot) {
		shoot.Spec.Kubernetes.Version = kubernetes
		worker := &shoot.Spec.Provider.Workers[0]
		worker.Machine = gardencorev1beta1.Machine{Type: "medium",
			Image: &gardencorev1beta1.ShootMachineImage{Name: "simulated", Version: &image}}
		if more != nil {
			more(worker)
		}
	}
}

// In is a field that is an object; it is made if it is missing.
func In(wire map[string]any, fields ...string) map[string]any {
	for _, name := range fields {
		next, ok := wire[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			wire[name] = next
		}
		wire = next
	}
	return wire
}

// Raw is an object as a request has it: one of our types, or one as on the wire.
func Raw(t *testing.T, object any) runtime.RawExtension {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: content}
}
