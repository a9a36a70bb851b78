package placement

import (
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestProfileOf(t *testing.T) {
	t.Parallel()
	reference := func(kind, name string) gardencorev1beta1.ShootSpec {
		return gardencorev1beta1.ShootSpec{CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: kind, Name: name},
			CloudProfileName: ptr.To("old")}
	}
	for _, c := range []struct {
		name      string
		spec      gardencorev1beta1.ShootSpec
		want, err string
		path      string
	}{
		{name: "none", path: "spec.cloudProfileName"},
		{name: "old form", spec: gardencorev1beta1.ShootSpec{CloudProfileName: ptr.To("old")}, want: "old",
			path: "spec.cloudProfileName"},
		{name: "reference", spec: reference("CloudProfile", "new"), want: "new", path: "spec.cloudProfile.name"},
		{name: "reference without kind", spec: reference("", "new"), want: "new", path: "spec.cloudProfile.name"},
		{
			name: "other kind", spec: reference("NamespacedCloudProfile", "new"), path: "spec.cloudProfile",
			err: `spec.cloudProfile.kind: Unsupported value: "NamespacedCloudProfile": supported values: "CloudProfile"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name, path, err := ProfileOf(&gardencorev1beta1.Shoot{Spec: c.spec})
			if got := ""; err != nil && err.Error() != c.err || err == nil && c.err != got || name != c.want ||
				path.String() != c.path {
				t.Errorf("got %q, %s, %v; want %q, %s, %q", name, path, err, c.want, c.path, c.err)
			}
		})
	}
}
