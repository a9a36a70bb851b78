package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

// A CloudProfile that was stored before admission filled in defaults means the same as a new one.
func TestValidator_StoredProfileWithoutDefaults_OffersItsImages(t *testing.T) {
	t.Parallel()
	profile, a := admissiontest.Profile(), admissiontest.Seed("a")
	for i := range profile.Spec.MachineImages[0].Versions {
		version := &profile.Spec.MachineImages[0].Versions[i]
		version.Architectures, version.CRI = nil, nil
	}
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(profile, &a).Build()
	shoot := admissiontest.Shoot()
	shoot.Spec.CloudProfileName = ptr.To("profile")
	full := requestOf(t, admissionv1.Create, nil, shoot)
	if response := validatorOf(c).Handle(t.Context(), full); !response.Allowed {
		t.Errorf("refused: %q", causes(response))
	}
	shoot.Spec.Provider.Workers[0].Machine.Image.Version = ptr.To("1.1")
	partly := requestOf(t, admissionv1.Create, nil, shoot)
	completed := apply(t, partly, (&defaulter{client: c, clock: testClock()}).Handle(t.Context(), partly))
	if got := ptr.Deref(completed.Spec.Provider.Workers[0].Machine.Image.Version, ""); got != "1.1.0" {
		t.Errorf("the image version 1.1 is completed to %q, want 1.1.0", got)
	}
}

// A CloudProfile that was accepted before the rules about versions existed can be changed, and not be made worse.
func TestProfileValidator_InvalidStoredProfile_CanStillBeChanged(t *testing.T) {
	t.Parallel()
	stored := func(change func(*gardencorev1beta1.CloudProfile)) *gardencorev1beta1.CloudProfile {
		profile := admissiontest.Profile()
		supported := ptr.To(gardencorev1beta1.ClassificationSupported)
		versions := profile.Spec.Kubernetes.Versions
		profile.Spec.Kubernetes.Versions = append(versions, gardencorev1beta1.ExpirableVersion{Version: "later"})
		versions[0].Classification, versions[1].Classification = supported, supported
		versions[0].ExpirationDate = nil
		change(profile)
		return profile
	}
	for _, c := range []struct {
		name   string
		change func(*gardencorev1beta1.CloudProfile)
		want   []string
	}{
		{name: "another part changes", change: func(p *gardencorev1beta1.CloudProfile) {
			p.Spec.Regions = append(p.Spec.Regions, gardencorev1beta1.Region{Name: "there"})
		}},
		{name: "the wrong version becomes right", change: func(p *gardencorev1beta1.CloudProfile) {
			p.Spec.Kubernetes.Versions[5].Version = "1.37.0"
		}},
		{
			name: "another version becomes wrong", change: func(p *gardencorev1beta1.CloudProfile) {
				p.Spec.Kubernetes.Versions[2].Version = "soon"
			},
			want: []string{`spec.kubernetes.versions[2].version: Invalid value: "soon": ` +
				`must be a semantic version, for example 1.34.2`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before, after := stored(func(*gardencorev1beta1.CloudProfile) {}), stored(c.change)
			garden := fake.NewClientBuilder().WithScheme(testScheme(t)).Build()
			v := &profileValidator{client: garden, clock: testClock()}
			response := v.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, Object: admissiontest.Raw(t, after), OldObject: admissiontest.Raw(t, before),
			}})
			if diff := cmp.Diff(c.want, causes(response)); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}
