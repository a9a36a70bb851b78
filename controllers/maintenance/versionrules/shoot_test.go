package versionrules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
)

const (
	offeredKubernetes = `[{version: 1.36.0, lifecycle: [{classification: preview, startTime: "2027-01-01T00:00:00Z"}]},
	  {version: 1.35.1, classification: preview}, {version: 1.35.0, expirationDate: "2026-11-01T00:00:00Z"},
	  {version: 1.34.2}, {version: 1.34.1, classification: deprecated},
	  {version: 1.33.0, expirationDate: "2026-11-01T00:00:00Z"}, {version: 1.32.0}, {version: 1.31.0}, {version: 1.30.0}]`
	fits          = "architectures: [amd64], cri: [{name: containerd}]"
	offeredImages = `[{name: linux, versions: [
	  {version: 3.0.0, expirationDate: "2026-11-01T00:00:00Z", ` + fits + `}, {version: 2.0.0, ` + fits + `},
	  {version: 1.9.0, kubeletVersionConstraint: "< 1.34", ` + fits + `},
	  {version: 1.0.0, expirationDate: "2026-11-01T00:00:00Z", ` + fits + `},
	  {version: 2.1.0, inPlaceUpdates: {supported: true, minVersionForUpdate: 2.0.5}, ` + fits + `},
	  {version: 4.0.0, lifecycle: [{classification: preview, startTime: "2027-01-01T00:00:00Z"}], ` + fits + `}]},
	  {name: other, versions: [{version: 1.0.0, ` + fits + `}]}]`
)

// shootOf has one pool; each of its three words may be "-" for nothing.
func shootOf(t *testing.T, controlPlane, pool, name, version, more string) *gardencorev1beta1.Shoot {
	t.Helper()
	worker := "{name: w, minimum: 0, maximum: 1, machine: {type: m"
	if name != "-" {
		worker += ", image: {name: " + name + ", version: \"" + version + "\"}"
	}
	worker += "}"
	if pool != "-" {
		worker += ", kubernetes: {version: \"" + pool + "\"}"
	}
	return &gardencorev1beta1.Shoot{Spec: *read[gardencorev1beta1.ShootSpec](t,
		"{region: x, kubernetes: {version: \""+controlPlane+"\"}, provider: {type: x, workers: ["+worker+more+"}]}}")}
}

func TestValidateShoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ controlPlane, pool, image, version, want string }{
		{"1.34.2", "-", "linux", "2.0.0", ""},
		{"1.35.1", "1.34.1", "other", "1.0.0", ""},
		{"1.35.1", "1.32.0", "-", "", ""},
		{"latest", "-", "-", "",
			`spec.kubernetes.version: Invalid value: "latest": must be a semantic version, for example 1.34.2`},
		{"1.34.2", "1.x", "-", "",
			`spec.provider.workers[0].kubernetes.version: Invalid value: "1.x": must be a semantic version, for example 1.34.2`},
		{"1.34.2", "-", "linux", "new",
			`spec.provider.workers[0].machine.image.version: Invalid value: "new": must be a semantic version, for example ` +
				`1.34.2`},
		{"1.34.9", "-", "-", "",
			`spec.kubernetes.version: Unsupported value: "1.34.9": supported values: "1.30.0", "1.31.0", "1.32.0", "1.34.1", ` +
				`"1.34.2", "1.35.1"`},
		{"1.35.0", "-", "-", "", "spec.kubernetes.version: Forbidden: Kubernetes version 1.35.0 has expired"},
		{"1.36.0", "-", "-", "", "spec.kubernetes.version: Forbidden: Kubernetes version 1.36.0 is not available yet"},
		{"1.34.1", "1.34.2", "-", "",
			"spec.provider.workers[0].kubernetes.version: Forbidden: worker pool version 1.34.2 must not be higher than the " +
				"control plane's, which is 1.34.1"},
		{"1.35.1", "1.31.0", "-", "",
			"spec.provider.workers[0].kubernetes.version: Forbidden: worker pool version 1.31.0 must not be more than 3 " +
				"minor versions lower than the control plane's, which is 1.35.1"},
		{"1.34.2", "1.33.0", "-", "",
			"spec.provider.workers[0].kubernetes.version: Forbidden: Kubernetes version 1.33.0 has expired"},
		{"1.34.2", "-", "gone", "1.0.0",
			`spec.provider.workers[0].machine.image.name: Unsupported value: "gone": supported values: "linux", "other"`},
		{"1.34.2", "-", "linux", "9.0.0",
			`spec.provider.workers[0].machine.image.version: Unsupported value: "9.0.0": supported values: "2.0.0", "2.1.0"`},
		{"1.34.2", "-", "linux", "3.0.0",
			`spec.provider.workers[0].machine.image.version: Forbidden: machine image "linux" version 3.0.0 has expired`},
		{"1.34.2", "-", "linux", "4.0.0",
			`spec.provider.workers[0].machine.image.version: Forbidden: ` +
				`machine image "linux" version 4.0.0 is not available yet`},
		{"1.34.2", "-", "linux", "1.9.0",
			`spec.provider.workers[0].machine.image.version: Invalid value: "1.9.0": cannot be used by worker pool "w": it ` +
				`needs a kubelet version < 1.34, and that of the pool is 1.34.2; versions that fit: [2.0.0 2.1.0]`},
		{"1.34.2", "1.32.0", "linux", "1.9.0", ""},
	} {
		shoot := shootOf(t, c.controlPlane, c.pool, c.image, c.version, "")
		if diff := cmp.Diff(c.want, lines(versionrules.ValidateShoot(shoot, nil,
			profileOf(t, offeredKubernetes, offeredImages), noon))); diff != "" {
			t.Errorf("%s, %s, %s %s (-want +got):\n%s", c.controlPlane, c.pool, c.image, c.version, diff)
		}
	}
}

func TestValidateShootUpdate(t *testing.T) {
	t.Parallel()
	const inPlace = ", updateStrategy: AutoInPlaceUpdate"
	for _, c := range []struct {
		before, after string // control plane, pool, image, version
		more          string
		want          string
	}{
		{"1.29.0 - gone 1.0.0", "1.29.0 - gone 1.0.0", "", ""}, // what has not changed may be gone from the profile
		{"1.34.1 - - -", "1.34.2 - - -", "", ""},
		{"1.34.2 - - -", "1.35.0 - - -", "", ""}, // up, to a version that has expired
		{"1.34.2 - - -", "1.34.1 - - -", "",
			"spec.kubernetes.version: Forbidden: Kubernetes version downgrade is not supported, 1.34.1 is lower than 1.34.2"},
		{"1.32.0 - - -", "1.34.1 - - -", "",
			"spec.kubernetes.version: Forbidden: Kubernetes version upgrade cannot skip a minor version, from 1.32.0 go to " +
				"1.33 first"},
		{"1.35.1 - - -", "1.36.0 - - -", "",
			"spec.kubernetes.version: Forbidden: Kubernetes version 1.36.0 is not available yet"},
		{"1.34.2 - - -", "1.35.7 - - -", "",
			`spec.kubernetes.version: Unsupported value: "1.35.7": supported values: "1.30.0", "1.31.0", "1.32.0", "1.33.0", ` +
				`"1.34.1", "1.34.2", "1.35.0", "1.35.1"`},
		{"1.34.2 1.31.0 - -", "1.35.0 1.31.0 - -", "",
			"spec.provider.workers[0].kubernetes.version: Forbidden: worker pool version 1.31.0 must not be more than 3 " +
				"minor versions lower than the control plane's, which is 1.35.0"},
		{"1.34.2 1.31.0 - -", "1.34.2 1.34.1 - -", "", ""}, // pools may skip minor versions
		{"1.34.2 1.31.0 - -", "1.34.2 1.34.1 - -", inPlace,
			"spec.provider.workers[0].kubernetes.version: Forbidden: worker pools that are updated in place cannot skip a " +
				"minor version, from 1.31.0 go to 1.32 first"},
		{"1.34.2 1.32.0 - -", "1.34.2 1.33.0 - -", "", ""},
		{"1.34.2 1.32.0 - -", "1.34.2 1.31.0 - -", "",
			"spec.provider.workers[0].kubernetes.version: Forbidden: Kubernetes version downgrade is not supported, 1.31.0 " +
				"is lower than 1.32.0"},
		{"1.34.2 1.31.0 - -", "1.34.2 - - -", "", ""}, // back to the control plane's
		{"1.34.2 1.31.0 - -", "1.34.2 - - -", inPlace,
			"spec.provider.workers[0].kubernetes.version: Forbidden: worker pools that are updated in place cannot skip a " +
				"minor version, from 1.31.0 go to 1.32 first"},
		{"1.34.2 - - -", "1.34.2 1.32.0 - -", "",
			"spec.provider.workers[0].kubernetes.version: Forbidden: Kubernetes version downgrade is not supported, 1.32.0 " +
				"is lower than 1.34.2"},
		{"1.29.9 - - -", "1.29.9 1.29.9 - -", "", ""}, // the control plane's, whatever the profile says
		{"1.34.2 - linux 2.0.0", "1.34.2 - linux 3.0.0", "", ""},
		{"1.34.2 - linux 3.0.0", "1.34.2 - linux 2.0.0", "", ""},
		{"1.34.2 - linux 2.0.0", "1.34.2 - linux 1.0.0", "",
			`spec.provider.workers[0].machine.image.version: Forbidden: machine image "linux" version 1.0.0 has expired`},
		{"1.34.2 - other 1.0.0", "1.34.2 - linux 3.0.0", "",
			`spec.provider.workers[0].machine.image.version: Forbidden: machine image "linux" version 3.0.0 has expired`},
		{"1.34.2 - linux 2.0.0", "1.34.2 - linux 2.1.0", inPlace,
			`spec.provider.workers[0].machine.image.version: Invalid value: "2.1.0": cannot be used by worker pool "w": it ` +
				`can be updated to in place from 2.0.5 on, not from 2.0.0; versions that fit: []`},
		{"1.34.2 - linux 2.0.6", "1.34.2 - linux 2.1.0", inPlace, ""},
		{"1.33.0 - linux 1.9.0", "1.34.2 - linux 1.9.0", "",
			`spec.provider.workers[0].machine.image.version: Invalid value: "1.9.0": cannot be used by worker pool "w": it ` +
				`needs a kubelet version < 1.34, and that of the pool is 1.34.2; versions that fit: [2.0.0 2.1.0]`},
		{"1.33.0 - linux 1.0.0", "1.34.2 - linux 1.0.0", "", ""}, // an image that has expired stays
		{"1.33.0 - linux 1.0.7", "1.34.2 - linux 1.0.7", "", ""}, // and one that is gone
		{"1.34.1 - linux 1.9.0", "1.34.2 - linux 1.9.0", "", ""}, // and one that did not fit before either
	} {
		shoot := func(words string) *gardencorev1beta1.Shoot {
			w := strings.Fields(words)
			return shootOf(t, w[0], w[1], w[2], w[3], c.more)
		}
		if diff := cmp.Diff(c.want,
			lines(versionrules.ValidateShoot(shoot(c.after), shoot(c.before),
				profileOf(t, offeredKubernetes, offeredImages), noon))); diff != "" {
			t.Errorf("%s to %s %s (-want +got):\n%s", c.before, c.after, c.more, diff)
		}
	}
}
