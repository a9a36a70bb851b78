package environment

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/realnodes"
	"github.com/transplant-sim/transplant/controllers/validation"
	"github.com/transplant-sim/transplant/controllers/validation/fields"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// gardenOfLandscape are the objects that a landscape's garden begins with, by kind, as they are written.
func gardenOfLandscape(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, applied runtime.ApplyConfiguration,
			_ ...client.ApplyOption) error {
			object := &unstructured.Unstructured{}
			if err := json.Unmarshal(inJSONFormat(t, applied), &object.Object); err != nil {
				return err
			}
			objects[object.GetKind()] = object
			return nil
		},
	}).Build()
	for manifest, values := range map[string]any{
		"garden.yaml": gardenValues{
			Project: Project, CloudProfile: landscape.CloudProfile, KubernetesVersions: landscape.Kubernetes(),
			MachineImage:  landscape.MachineImage,
			ImageVersions: landscape.Images(), Tolerable: []string{"vault.test/keep"}, Settings: ScenarioSettings,
		},
		"seed-in-garden.yaml": seedValues{
			Name: "a", Region: landscape.Home, Domain: Domain, DefaultDomain: DefaultDomain, Pods: "127.0.64.0/18",
			Services: "127.0.128.0/18",
			Taints:   []landscape.Taint{{Key: "vault.test/keep"}}, Settings: ScenarioSettings,
		},
	} {
		if err := apply(t.Context(), c, manifest, values); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"CloudProfile", "Project", "Seed"} {
		if objects[kind] == nil {
			t.Fatalf("no manifest has a %s", kind)
		}
	}
	return objects
}

func as[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := json.Unmarshal(inJSONFormat(t, object), typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

func inJSONFormat(t *testing.T, object any) []byte {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestLandscape_ObjectsOfTheGarden_AreAccepted(t *testing.T) {
	t.Parallel()
	garden := gardenOfLandscape(t)
	for kind, errs := range map[string]field.ErrorList{
		"CloudProfile": validation.CloudProfile(as[gardencorev1beta1.CloudProfile](t, garden["CloudProfile"])),
		"Project":      validation.Project(as[gardencorev1beta1.Project](t, garden["Project"]), nil),
		"Seed":         validation.Seed(as[gardencorev1beta1.Seed](t, garden["Seed"])),
	} {
		if len(errs) > 0 {
			t.Errorf("%s: %v", kind, errs.ToAggregate())
		}
	}
	wantNoWarnings(t, "CloudProfile", garden["CloudProfile"].Object)
	wantNoWarnings(t, "Project", garden["Project"].Object)
}

func wantNoWarnings(t *testing.T, kind string, object map[string]any) {
	t.Helper()
	if warnings := fields.Warnings(kind, object, nil); len(warnings) > 0 {
		t.Errorf("%s %v has fields without effect: %q", kind, object["metadata"], warnings)
	}
}

// No manifest has a field that the types do not know: it would have been misspelt.
func TestLandscape_Manifests_HaveKnownFieldsOnly(t *testing.T) {
	t.Parallel()
	garden := gardenOfLandscape(t)
	example, err := os.ReadFile("../../../docs/examples/shoot.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shoot := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(example, &shoot.Object); err != nil {
		t.Fatal(err)
	}
	garden["Shoot"] = shoot
	for kind, empty := range map[string]func() any{
		"CloudProfile": func() any { return &gardencorev1beta1.CloudProfile{} },
		"Project":      func() any { return &gardencorev1beta1.Project{} },
		"Seed":         func() any { return &gardencorev1beta1.Seed{} },
		"Shoot":        func() any { return &gardencorev1beta1.Shoot{} },
	} {
		if unknown := fields.Unknown(inJSONFormat(t, garden[kind]), nil, empty); len(unknown) > 0 {
			t.Errorf("%s: %q", kind, unknown)
		}
	}
	if errs := validation.Shoot(as[gardencorev1beta1.Shoot](t, shoot), validation.Surroundings{
		Project: Project, Profile: as[gardencorev1beta1.CloudProfile](t, garden["CloudProfile"]),
	}); len(errs) > 0 {
		t.Errorf("docs/examples/shoot.yaml: %v", errs.ToAggregate())
	}
}

// Every shoot of the catalogue is accepted as it is created, and as it is patched, unless the scenario expects
// otherwise.
func TestScenarios_ShootsAndPatches_AreAccepted(t *testing.T) {
	t.Parallel()
	profile := as[gardencorev1beta1.CloudProfile](t, gardenOfLandscape(t)["CloudProfile"])
	around := validation.Surroundings{Project: Project, Profile: profile}
	files, err := filepath.Glob("../../../scenarios/*/*.yaml")
	if err != nil || len(files) < 50 {
		t.Fatalf("got %d scenarios, %v", len(files), err)
	}
	created, patched := 0, 0
	for _, file := range files {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e := &Environment{RealNodes: realnodes.Of(s.Spec.Landscape)}
		if err := e.RealNodes.Plan(0); err != nil {
			t.Fatal(err)
		}
		shoots := map[string]*gardencorev1beta1.Shoot{}
		for _, wanted := range s.Spec.Landscape.Shoots {
			shoot, err := e.ShootManifest(wanted)
			if err != nil {
				t.Fatal(err)
			}
			if errs := validation.Shoot(shoot, around); len(errs) > 0 {
				t.Errorf("%s: shoot %s: %v", file, shoot.Name, errs.ToAggregate())
			}
			wire := map[string]any{}
			if err := json.Unmarshal(inJSONFormat(t, shoot), &wire); err != nil {
				t.Fatal(err)
			}
			if wanted.Nodes == landscape.RealNodes { // only there do pods and Services have the addresses that the shoot names
				networking := wire["spec"].(map[string]any)["networking"].(map[string]any)
				delete(networking, "pods")
				delete(networking, "services")
			}
			wantNoWarnings(t, "Shoot", wire)
			shoots[wanted.Name] = shoot
			created++
		}
		for _, one := range s.Spec.Steps {
			if one.Patch == nil || one.Patch.Shoot == "" || one.Patch.Refused != "" {
				continue
			}
			before := shoots[one.Patch.Shoot]
			after := merged(t, before, one.Patch.Merge)
			errs := append(validation.ShootChange(after, before), validation.Shoot(after, around)...)
			if len(errs) > 0 {
				t.Errorf("%s: %s: %v", file, one.Patch, errs.ToAggregate())
			}
			shoots[one.Patch.Shoot] = after
			patched++
		}
	}
	if created < 50 || patched < 10 {
		t.Errorf("only %d shoots and %d patches were looked at", created, patched)
	}
}

func merged(t *testing.T, shoot *gardencorev1beta1.Shoot, merge any) *gardencorev1beta1.Shoot {
	t.Helper()
	content, err := jsonpatch.MergePatch(inJSONFormat(t, shoot), inJSONFormat(t, merge))
	if err != nil {
		t.Fatal(err)
	}
	patched := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(content, patched); err != nil {
		t.Fatal(err)
	}
	return patched
}
