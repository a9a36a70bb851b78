package versionrules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

func profileOf(t *testing.T, kubernetes, images string) *gardencorev1beta1.CloudProfile {
	t.Helper()
	return &gardencorev1beta1.CloudProfile{Spec: *read[gardencorev1beta1.CloudProfileSpec](t,
		"{type: x, regions: [], machineTypes: [{name: m, cpu: 1, gpu: 0, memory: 1Gi}], kubernetes: {versions: "+kubernetes+
			"}, machineImages: "+images+"}")}
}

func lines(errs field.ErrorList) string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return strings.Join(all, "\n")
}

func TestValidateCloudProfile(t *testing.T) {
	t.Parallel()
	const one = "[{name: linux, versions: [{version: 1.0.0}]}]"
	for _, c := range []struct{ name, kubernetes, images, want string }{
		{"the example of the document", `[
			{classification: preview, version: 1.27.0}, {classification: preview, version: 1.26.3},
			{classification: supported, version: 1.26.2}, {classification: preview, version: 1.25.5},
			{classification: supported, version: 1.25.4}, {classification: supported, version: 1.24.6},
			{classification: deprecated, expirationDate: "2026-11-30T23:59:59Z", version: 1.24.5}]`,
			`[{name: gardenlinux, updateStrategy: minor, versions: [{version: 1096.1.0}, {version: 934.8.0}, {version: ` +
				`934.7.0}]}, {name: suse-chost, updateStrategy: patch, versions: [{version: 15.3.20220818}]}]`, ""},
		{"nothing", "[]", "[]",
			"spec.kubernetes.versions: Required value: must provide at least one version\nspec.machineImages: Required " +
				"value: must provide at least one machine image"},
		{"an image without versions, an image twice", "[{version: 1.34.0}]",
			"[{name: a, versions: []}, {name: a, versions: [{version: 1.0.0}]}]",
			"spec.machineImages[0].versions: Required value: must provide at least one version\nspec.machineImages[1].name: " +
				"Duplicate value: \"a\""},
		{"versions that cannot be read", "[{version: latest}]", "[{name: a, versions: [{version: 1.x}]}]",
			"spec.kubernetes.versions[0].version: Invalid value: \"latest\": must be a semantic version, for example 1.34.2\n" +
				"spec.machineImages[0].versions[0].version: Invalid value: \"1.x\": " +
				"must be a semantic version, for example 1.34.2"},
		{"the same version twice", "[{version: 1.34.0}, {version: v1.34}]", one,
			"spec.kubernetes.versions[1].version: Duplicate value: \"v1.34\""},
		{"classes that follow from times",
			"[{version: 1.34.0}, {version: 1.33.0, classification: expired}, {version: 1.32.0, classification: unavailable}]",
			one,
			`spec.kubernetes.versions[1].classification: Unsupported value: "expired": supported values: "preview", ` +
				`"supported", "deprecated"` + "\n" +
				`spec.kubernetes.versions[2].classification: Unsupported value: "unavailable": supported values: "preview", ` +
				`"supported", "deprecated"`},
		{"both forms", `[{version: 1.34.0}, {version: 1.33.0, classification: preview, expirationDate: ` +
			`"2027-01-01T00:00:00Z", lifecycle: [{classification: preview}]}]`, one,
			"spec.kubernetes.versions[1].classification: Forbidden: must not be set together with " +
				"lifecycle\nspec.kubernetes.versions[1].expirationDate: Forbidden: must not be set together with lifecycle"},
		{"stages out of order",
			`[{version: 1.34.0}, {version: 1.33.0, lifecycle: [{classification: supported}, {classification: preview, ` +
				`startTime: "2027-01-01T00:00:00Z"}, {classification: preview, startTime: "2027-01-01T00:00:00Z"}, ` +
				`{classification: gone, startTime: "2027-01-01T00:00:00Z"}, {classification: expired}]}]`, one,
			`spec.kubernetes.versions[1].lifecycle[1].classification: Invalid value: "preview": must not come after ` +
				`supported: the order is preview, supported, deprecated, expired` + "\n" +
				`spec.kubernetes.versions[1].lifecycle[2].classification: Duplicate value: "preview"` + "\n" +
				`spec.kubernetes.versions[1].lifecycle[2].startTime: Invalid value: "2027-01-01T00:00:00Z": must be after the ` +
				`start of the stage before` + "\n" +
				`spec.kubernetes.versions[1].lifecycle[3].classification: Unsupported value: "gone": supported values: ` +
				`"preview", "supported", "deprecated", "expired"` + "\n" +
				`spec.kubernetes.versions[1].lifecycle[4].startTime: Required value: only the first stage may have none`},
		{"the latest expires", `[{version: 1.34.10, expirationDate: "2027-01-01T00:00:00Z"}, {version: 1.34.9}]`,
			`[{name: a, versions: [{version: 1.0.0, expirationDate: "2027-01-01T00:00:00Z"}]}]`,
			`spec.kubernetes.versions[0].expirationDate: Invalid value: "2027-01-01T00:00:00Z": the latest Kubernetes ` +
				`version must not expire: 1.34.10 is the latest`},
		{"the latest expires in the end",
			`[{version: 1.34.1, lifecycle: [{classification: supported}, {classification: expired, startTime: ` +
				`"2027-01-01T00:00:00Z"}]}]`, one,
			`spec.kubernetes.versions[0].lifecycle[1]: Forbidden: the latest Kubernetes version must not expire: 1.34.1 is ` +
				`the latest`},
		{"new and expired", `[{version: 1.34.1}, {version: 1.33.1, expirationDate: "2026-11-21T11:59:59Z"}, {version: ` +
			`1.33.2, expirationDate: "2026-11-21T12:00:00Z"}]`,
			`[{name: a, versions: [{version: 1.0.0, lifecycle: [{classification: supported}, {classification: expired, ` +
				`startTime: "2020-01-01T00:00:00Z"}]}]}]`,
			`spec.kubernetes.versions[1].expirationDate: Invalid value: "2026-11-21T11:59:59Z": must not be in the past: ` +
				`version 1.33.1 is new` + "\n" +
				`spec.machineImages[0].versions[0].lifecycle: Invalid value: "2020-01-01T00:00:00Z": must not be in the past: ` +
				`version 1.0.0 is new`},
		{"two supported versions",
			"[{version: 1.34.1, classification: supported}, {version: 1.34.0, classification: supported}, {version: 1.33.0, " +
				"classification: supported}, {version: 1.34.2}]",
			"[{name: a, versions: [{version: 1.0.1, classification: supported}, {version: 1.0.2, lifecycle: " +
				"[{classification: supported}]}]}]",
			"spec.kubernetes.versions[1]: Forbidden: there can be only one supported version of 1.34 at a time, and 1.34.1 " +
				"is one already: make 1.34.0 preview or deprecated\n" +
				"spec.machineImages[0].versions[1]: Forbidden: there can be only one supported version of 1.0 at a time, and " +
				"1.0.1 is one already: make 1.0.2 preview or deprecated"},
		{"supported one after the other", `[
			{version: 1.34.1, lifecycle: [{classification: supported},
			  {classification: deprecated, startTime: "2027-01-01T00:00:00Z"}]},
			{version: 1.34.2, lifecycle: [{classification: preview},
			  {classification: supported, startTime: "2027-01-01T00:00:00Z"}]}]`, one, ""},
		{"supported one after the other, listed the other way round", `[
			{version: 1.34.2, lifecycle: [{classification: preview},
			  {classification: supported, startTime: "2027-01-01T00:00:00Z"}]},
			{version: 1.34.1, lifecycle: [{classification: supported},
			  {classification: deprecated, startTime: "2027-01-01T00:00:00Z"}]}]`, one, ""},
		{"supported one before the other ends", `[
			{version: 1.34.1, lifecycle: [{classification: supported},
			  {classification: deprecated, startTime: "2027-01-01T00:00:01Z"}]},
			{version: 1.34.2, lifecycle: [{classification: preview},
			  {classification: supported, startTime: "2027-01-01T00:00:00Z"}]}]`, one,
			"spec.kubernetes.versions[1]: Forbidden: there can be only one supported version of 1.34 at a time, and 1.34.1 " +
				"is one already: make 1.34.2 preview or deprecated"},
		{"images", "[{version: 1.34.0}]",
			`[{name: a, updateStrategy: never, versions: [{version: 1.0.0, kubeletVersionConstraint: new, inPlaceUpdates: ` +
				`{supported: true, minVersionForUpdate: old}}]}]`,
			`spec.machineImages[0].updateStrategy: Unsupported value: "never": supported values: "patch", "minor", "major"` +
				"\n" +
				`spec.machineImages[0].versions[0].kubeletVersionConstraint: Invalid value: "new": must be a range of versions, ` +
				`for example ">= 1.30, < 1.34": improper constraint: "new"` + "\n" +
				`spec.machineImages[0].versions[0].inPlaceUpdates.minVersionForUpdate: Invalid value: "old": must be a semantic ` +
				`version, for example 1.34.2`},
	} {
		profile := profileOf(t, strings.ReplaceAll(c.kubernetes, "\t", " "), c.images)
		if diff := cmp.Diff(c.want, lines(versionrules.ValidateCloudProfile(profile, noon))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestValidateCloudProfileUpdate(t *testing.T) {
	t.Parallel()
	const images = "[{name: a, versions: [{version: 1.0.0}]}]"
	for _, c := range []struct{ name, before, after, want string }{
		{"a version expires now", "[{version: 1.34.0}, {version: 1.33.0}]",
			`[{version: 1.34.0}, {version: 1.33.0, expirationDate: "2020-01-01T00:00:00Z"}]`, ""},
		{"a version is added that has expired", "[{version: 1.34.0}]",
			`[{version: 1.34.0}, {version: 1.33.0, expirationDate: "2020-01-01T00:00:00Z"}]`,
			`spec.kubernetes.versions[1].expirationDate: Invalid value: "2020-01-01T00:00:00Z": must not be in the past: ` +
				`version 1.33.0 is new`},
		{"a version becomes unavailable", "[{version: 1.34.0}]",
			`[{version: 1.34.0, lifecycle: [{classification: preview, startTime: "2027-01-01T00:00:00Z"}]}]`,
			"spec.kubernetes.versions[0].lifecycle: Forbidden: version 1.34.0 is available already and cannot become " +
				"unavailable again"},
		{"a version stays unavailable",
			`[{version: 1.34.0, lifecycle: [{classification: preview, startTime: "2026-12-01T00:00:00Z"}]}]`,
			`[{version: 1.34.0, lifecycle: [{classification: preview, startTime: "2027-01-01T00:00:00Z"}]}]`, ""},
	} {
		if diff := cmp.Diff(c.want,
			lines(versionrules.ValidateCloudProfileUpdate(profileOf(t, c.after, images), profileOf(t, c.before, images),
				noon))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestVersionsInUseCannotBeRemoved(t *testing.T) {
	t.Parallel()
	before := profileOf(t, "[{version: 1.34.0}, {version: 1.33.0}, {version: 1.32.0}, {version: 1.31.0}]",
		"[{name: a, versions: [{version: 1.0.0}, {version: 1.1.0}]}, {name: b, versions: [{version: 1.0.0}]}]")
	shoot := func(name, version, pool, image string) gardencorev1beta1.Shoot {
		s := gardencorev1beta1.Shoot{Spec: *read[gardencorev1beta1.ShootSpec](t,
			"{region: x, kubernetes: {version: "+version+
				"}, provider: {type: x, workers: [{name: w, minimum: 0, maximum: 1, kubernetes: {version: "+pool+
				"}, machine: {type: m, image: {name: a, version: "+image+"}}}]}}")}
		s.Namespace, s.Name = "garden-p", name
		return s
	}
	shoots := []gardencorev1beta1.Shoot{
		shoot("d", "1.34.0", "1.33.0", "1.0.0"), shoot("c", "1.34.0", "1.33", "1.0.0"),
		shoot("b", "1.34.0", "1.34.0", "1.0.0"), shoot("a", "1.32.0", "1.32.0", "1.0.0"),
	}
	after := profileOf(t, "[{version: v1.34.0}]", "[{name: a, versions: [{version: 1.1.0}]}]")
	want := `spec.kubernetes.versions: Forbidden: cannot remove the Kubernetes version 1.33.0: ` +
		`it is in use by shoot garden-p/c, garden-p/d
spec.kubernetes.versions: Forbidden: cannot remove the Kubernetes version 1.32.0: it is in use by shoot garden-p/a
spec.machineImages: Forbidden: cannot remove the machine image "a" version 1.0.0: ` +
		`it is in use by shoot garden-p/a, garden-p/b, garden-p/c and 1 more`
	if diff := cmp.Diff(want, lines(versionrules.ValidateVersionsInUse(after, before, shoots))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := versionrules.ValidateVersionsInUse(before, before, shoots); got != nil {
		t.Errorf("nothing is removed: %v", got)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	profile := profileOf(t, `[{version: 1.34.5, classification: preview},
	  {version: 1.34.2, classification: deprecated}, {version: 1.34.1}, {version: 1.34.0}, {version: 1.3.9},
	  {version: 1.33.9, classification: preview}, {version: 1.32.1, expirationDate: "2020-01-01T00:00:00Z"}]`, "[]")
	for _, c := range []struct{ text, want, err string }{
		{"", "1.34.1", ""},
		{"1", "1.34.1", ""},
		{"1.34", "1.34.1", ""},
		{"1.3", "1.3.9", ""},
		{"1.34.5", "1.34.5", ""},
		{"latest", "latest", ""},
		{"1.33", "", `complete the Kubernetes version "1.33": the CloudProfile has no supported version of it: name a ` +
			`version in full`},
		{"1.32", "", `complete the Kubernetes version "1.32": the CloudProfile has no supported version of it: name a ` +
			`version in full`},
	} {
		got, err := versionrules.CompleteKubernetes(profile, c.text, noon)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	image := &gardencorev1beta1.MachineImage{Name: "a", Versions: []gardencorev1beta1.MachineImageVersion{
		{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: "2.0.0"}, Architectures: []string{"arm64"}},
		{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: "1.0.0"}, Architectures: []string{"amd64"}},
	}}
	amd64 := func(v gardencorev1beta1.MachineImageVersion) bool { return v.Architectures[0] == "amd64" }
	if got, err := versionrules.CompleteImage(image, "", amd64, noon); got != "1.0.0" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := versionrules.CompleteImage(image, "2", amd64, noon); got != "" || err == nil ||
		err.Error() != `complete the version "2" of machine image "a": the CloudProfile has no supported version of it: `+
			`name a version in full` {
		t.Errorf("%q, %v", got, err)
	}
}
