package admission

import (
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

// configured sets the configuration of the gardenlet, which says what the Seed is.
func configured(config string) func(*seedmanagementv1alpha1.ManagedSeed) {
	return func(managed *seedmanagementv1alpha1.ManagedSeed) {
		managed.Spec.Gardenlet = &seedmanagementv1alpha1.Gardenlet{Config: &runtime.RawExtension{Raw: []byte(config)}}
	}
}

const (
	configType = `"apiVersion":"gardenlet.config.gardener.cloud/v1alpha1","kind":"GardenletConfiguration"`
	seedSpec   = `"provider":{"type":"transplant","region":"here"},` +
		`"networks":{"pods":"10.1.0.0/16","services":"10.2.0.0/16"},` +
		`"dns":{"provider":{"type":"transplant","credentialsRef":{"apiVersion":"v1","kind":"Secret","name":"dns",` +
		`"namespace":"garden"}}}`
)

func TestManagedSeedValidator(t *testing.T) {
	t.Parallel()
	seedShoot := func(change func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
		shoot := admissiontest.Shoot()
		shoot.Name, shoot.Spec.Purpose = "m", ptr.To(gardencorev1beta1.ShootPurposeInfrastructure)
		if change != nil {
			change(shoot)
		}
		return shoot
	}
	fits := []client.Object{seedShoot(nil)}
	named := func(namespace, name, shoot string) *seedmanagementv1alpha1.ManagedSeed {
		m := managedSeed(name)
		m.Namespace, m.Spec.Shoot.Name = namespace, shoot
		return m
	}
	seed := admissiontest.Seed("m")
	const invalid = `ManagedSeed.seedmanagement.gardener.cloud "m" is invalid: `
	const shootName = invalid + `spec.shoot.name: Invalid value: "m": the shoot `
	for _, c := range []struct {
		name        string
		garden      []client.Object
		old, change func(*seedmanagementv1alpha1.ManagedSeed)
		operation   admissionv1.Operation
		message     string
	}{
		{name: "fits", garden: fits},
		{name: "without its shoot", message: invalid + `spec.shoot.name: Not found: "m"`},
		{
			name: "of a shoot that does nothing special", garden: []client.Object{seedShoot(func(s *gardencorev1beta1.Shoot) {
				s.Spec.Purpose = nil
			})},
			message: shootName + `must have spec.purpose "infrastructure", so that it is evacuated before others`,
		},
		{
			name: "of a shoot that sleeps", garden: []client.Object{seedShoot(func(s *gardencorev1beta1.Shoot) {
				s.Status.IsHibernated = true
			})},
			message: shootName + `is hibernated: wake it up, by spec.hibernation.enabled=false`,
		},
		{
			name: "of a shoot that will sleep", garden: []client.Object{seedShoot(func(s *gardencorev1beta1.Shoot) {
				s.Spec.Hibernation = &gardencorev1beta1.Hibernation{
					Schedules: []gardencorev1beta1.HibernationSchedule{{Start: ptr.To("0 20 * * *")}}}
			})},
			message: shootName + `must have no start in spec.hibernation.schedules`,
		},
		{
			name: "of a shoot in deletion", garden: []client.Object{seedShoot(func(s *gardencorev1beta1.Shoot) {
				s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: admissiontest.Now}, []string{"gardener"}
			})},
			message: shootName + `is being deleted`,
		},
		{
			name: "with the name of another Seed", garden: append([]client.Object{&seed}, fits...),
			message: invalid + `metadata.name: Invalid value: "m": is the name of a Seed that is no managed seed: delete ` +
				`that, or choose another name`,
		},
		{
			name:   "with the name of a managed seed of another namespace",
			garden: append([]client.Object{&seed, named("garden-q", "m", "m")}, fits...),
			message: invalid + `metadata.name: Invalid value: "m": is the name of a ManagedSeed in namespace "garden-q": ` +
				`Seeds have no namespace, so choose another name`,
		},
		{
			name: "of a shoot that is another seed", garden: append([]client.Object{named("garden-p", "other", "m")}, fits...),
			message: invalid + `spec.shoot.name: Invalid value: "m": is the shoot of ManagedSeed "other": a shoot is one seed`,
		},
		{name: "there already", garden: append([]client.Object{&seed, named("garden-p", "m", "m")}, fits...)},
		{
			name: "with a Seed", garden: fits,
			change: configured(`{` + configType + `,"seedConfig":{"spec":{` + seedSpec + `}}}`),
		},
		{
			name: "with a configuration of another type", garden: fits, change: configured(`{"kind":"X"}`),
			message: invalid + `spec.gardenlet.config: Invalid value: " X": must be of apiVersion ` +
				`gardenlet.config.gardener.cloud/v1alpha1 and kind GardenletConfiguration`,
		},
		{
			name: "without a configuration", garden: fits, change: func(m *seedmanagementv1alpha1.ManagedSeed) {
				m.Spec.Gardenlet = &seedmanagementv1alpha1.Gardenlet{}
			},
			message: invalid + `spec.gardenlet.config.seedConfig: Required value: must describe the Seed`,
		},
		{
			name: "without a Seed in it", garden: fits, change: configured(`{` + configType + `}`),
			message: invalid + `spec.gardenlet.config.seedConfig.spec: Required value: must describe the Seed`,
		},
		{
			name: "with a Seed that would be refused", garden: fits,
			change: configured(`{` + configType + `,"seedConfig":{"spec":{` + seedSpec + `,"accessRestrictions":[{"name":"r"},` +
				`{"name":"r"}]}}}`),
			message: invalid + `spec.gardenlet.config.seedConfig.spec.accessRestrictions[1].name: Duplicate value: "r"`,
		},
		{
			name: "changed, without its shoot", operation: "UPDATE",
			change: configured(`{` + configType + `,"seedConfig":{"spec":{` + seedSpec + `}}}`),
		},
		{
			name: "changed to what cannot be read", operation: "UPDATE", change: configured(`{` + configType + `}`),
			message: invalid + `spec.gardenlet.config.seedConfig.spec: Required value: must describe the Seed`,
		},
		{
			name: "what cannot be read, changed elsewhere", operation: "UPDATE", old: configured(`{` + configType + `}`),
			change: func(m *seedmanagementv1alpha1.ManagedSeed) { m.Labels = map[string]string{"a": "b"} },
		},
		{name: "deleted", operation: "DELETE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			garden := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(c.garden...).Build()
			r := admissionv1.AdmissionRequest{Operation: c.operation, Namespace: "garden-p", Name: "m"}
			r.Kind.Group, r.Kind.Kind = "seedmanagement.gardener.cloud", "ManagedSeed"
			r.Resource.Group, r.Resource.Resource = "seedmanagement.gardener.cloud", "managedseeds"
			old := managedSeed("m")
			if c.old != nil {
				c.old(old)
			}
			now := old.DeepCopy()
			if c.change != nil {
				c.change(now)
			}
			switch c.operation {
			case "":
				r.Operation, r.Object = "CREATE", admissiontest.Raw(t, now)
			case "UPDATE":
				r.Object, r.OldObject = admissiontest.Raw(t, now), admissiontest.Raw(t, old)
			case "DELETE":
				r.OldObject = admissiontest.Raw(t, old)
			}
			response := (&managedSeedValidator{client: garden}).Handle(t.Context(), admission.Request{AdmissionRequest: r})
			if response.Allowed != (c.message == "") {
				t.Errorf("allowed: %t", response.Allowed)
			}
			if c.message != "" && (response.Result.Message != c.message ||
				response.Result.Code != http.StatusUnprocessableEntity) {
				t.Errorf("got %d %q, want %q", response.Result.Code, response.Result.Message, c.message)
			}
		})
	}
}

// managedSeedOnServer: a shoot is protected as long as it is a seed.
func managedSeedOnServer(t *testing.T, g *gardenOnServer) {
	refused(t, g.Create(t.Context(), managedSeed("m")), http.StatusUnprocessableEntity, "spec.shoot.name",
		`Not found: "m"`)
	shoot := alphaOnServer("m")
	shoot.Spec.Purpose = ptr.To(gardencorev1beta1.ShootPurposeInfrastructure)
	shoot.Annotations = map[string]string{"confirmation.gardener.cloud/deletion": "true"}
	g.create(t, shoot)
	managed := managedSeed("m")
	g.create(t, managed)
	const why = `the shoot is the seed of ManagedSeed "m", which must be deleted first`
	refused(t, g.Delete(t.Context(), shoot), http.StatusForbidden, "metadata.deletionTimestamp", why)
	sleep := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hibernation":{"enabled":true}}}`))
	refused(t, g.Patch(t.Context(), shoot.DeepCopy(), sleep), http.StatusForbidden, "spec.hibernation.enabled", why)
	for _, object := range []client.Object{managed, shoot} {
		if err := g.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
