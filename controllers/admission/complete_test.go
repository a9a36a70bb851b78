package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

func TestVersionsAreCompleted(t *testing.T) {
	t.Parallel()
	with := func(change func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
		shoot := admissiontest.Shoot()
		shoot.Spec.CloudProfileName = ptr.To("profile")
		admissiontest.Pool("1.36.3", "1.1.0", nil)(shoot)
		if change != nil {
			change(shoot)
		}
		return shoot
	}
	type versions struct{ ControlPlane, Pool, Image string }
	noImage := func(shoot *gardencorev1beta1.Shoot) {
		admissiontest.Pool("1.36.3", "", nil)(shoot)
		shoot.Spec.Provider.Workers[0].Machine.Image = nil
	}
	for _, c := range []struct {
		name     string
		old, now func(*gardencorev1beta1.Shoot)
		create   bool
		want     versions
		refusal  string
	}{
		{name: "minor", create: true, now: admissiontest.Pool("1.34", "1.1.0", nil), want: versions{"1.34.2", "", "1.1.0"}},
		{name: "never a preview", create: true, now: admissiontest.Pool("1.36", "1", nil),
			want: versions{"1.36.3", "", "1.2.0"}},
		{name: "nothing", create: true, now: admissiontest.Pool("", "", nil), want: versions{"1.36.3", "", "1.2.0"}},
		{
			name: "nothing supported", create: true, now: admissiontest.Pool("1.33", "1.1.0", nil),
			refusal: `Shoot.core.gardener.cloud "alpha" is invalid: spec.kubernetes.version: Invalid value: "1.33": complete ` +
				`the Kubernetes version "1.33": the CloudProfile has no supported version of it: name a version in full`,
		},
		{
			name: "a pool follows the control plane", create: true,
			now: func(shoot *gardencorev1beta1.Shoot) {
				admissiontest.Pool("1.35", "1.0", func(w *gardencorev1beta1.Worker) {
					w.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: ptr.To("1.35")}
				})(shoot)
				shoot.Spec.Provider.Workers[0].Machine.Image.Version = nil
			},
			want: versions{"1.35.0", "1.35.0", "1.2.0"},
		},
		{name: "asked for what it has", old: admissiontest.Pool("1.34.1", "1.1.0", nil),
			now: admissiontest.Pool("1.34", "1.1", nil), want: versions{"1.34.1", "", "1.1.0"}},
		{name: "on to another minor", old: admissiontest.Pool("1.34.1", "1.1.0", nil),
			now: admissiontest.Pool("1.35", "1.2", nil), want: versions{"1.35.0", "", "1.2.0"}},
		{name: "a new pool without an image", create: true, now: noImage, want: versions{"1.36.3", "", "1.2.0"}},
		{
			name: "a new pool without an image, of another architecture", create: true,
			now: func(shoot *gardencorev1beta1.Shoot) {
				noImage(shoot)
				shoot.Spec.Provider.Workers[0].Machine.Architecture = ptr.To("arm64")
			},
			refusal: `Shoot.core.gardener.cloud "alpha" is invalid: ` +
				`spec.provider.workers[0].machine.image: Invalid value: "": the CloudProfile has no machine image of which a ` +
				`supported version fits the pool: name one`,
		},
		{
			name: "a pool keeps the image that is left out", old: admissiontest.Pool("1.35.0", "1.1.0", nil), now: noImage,
			want: versions{"1.36.3", "", "1.1.0"},
		},
		{name: "an old pool without an image", old: noImage, now: func(shoot *gardencorev1beta1.Shoot) {
			noImage(shoot)
			shoot.Spec.Kubernetes.Version = "1.36.4"
		}, want: versions{"1.36.4", "", ""}},
		{
			name: "an old gap stays", now: admissiontest.Pool("1.36.4", "", nil), old: admissiontest.Pool("1.36.3", "", nil),
			want: versions{"1.36.4", "", ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			request := requestOf(t, "UPDATE", with(c.old), with(c.now))
			if c.create {
				request = requestOf(t, "CREATE", nil, with(c.now))
			}
			response := (&defaulter{client: fakeGarden(t, false), clock: testClock()}).Handle(t.Context(), request)
			if c.refusal != "" {
				if response.Allowed || response.Result.Message != c.refusal {
					t.Errorf("got %+v, want %q", response.Result, c.refusal)
				}
				return
			}
			shoot := apply(t, request, response)
			got := versions{ControlPlane: shoot.Spec.Kubernetes.Version}
			if image := shoot.Spec.Provider.Workers[0].Machine.Image; image != nil {
				got.Image = ptr.Deref(image.Version, "")
			}
			if k := shoot.Spec.Provider.Workers[0].Kubernetes; k != nil {
				got.Pool = ptr.Deref(k.Version, "")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}
