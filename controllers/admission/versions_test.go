package admission

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// poolOf changes alpha to a Kubernetes version and a pool with an image.
func poolOf(kubernetes, image string, more func(*gardencorev1beta1.Worker)) func(*gardencorev1beta1.Shoot) {
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

func inPlaceUpdated(worker *gardencorev1beta1.Worker) {
	worker.UpdateStrategy = ptr.To(gardencorev1beta1.AutoInPlaceUpdate)
}

// worker is the first worker pool on the wire.
func worker(shoot map[string]any) map[string]any {
	return in(shoot, "spec", "provider")["workers"].([]any)[0].(map[string]any)
}

func kubernetes(version string) func(map[string]any) {
	return func(shoot map[string]any) { in(shoot, "spec", "kubernetes")["version"] = version }
}

func TestVersionsOfShoots(t *testing.T) {
	t.Parallel()
	testRules(t, []ruleCase{
		{name: "the next minor", old: poolOf("1.35.0", "1.1.0", nil), wire: kubernetes("1.36.3")},
		{
			name: "a minor is skipped", old: poolOf("1.34.2", "1.1.0", nil), wire: kubernetes("1.36.3"),
			want: []string{"spec.kubernetes.version: Forbidden: Kubernetes version upgrade cannot skip a minor version, from " +
				"1.34.2 go to 1.35 first"},
		},
		{
			name: "created with an expired version", create: true, wire: kubernetes("1.34.1"),
			want: []string{"spec.kubernetes.version: Forbidden: Kubernetes version 1.34.1 has expired"},
		},
		{
			name: "no version", create: true, wire: kubernetes("newest"),
			want: []string{`spec.kubernetes.version: Invalid value: "newest": must be a semantic version, for example 1.34.2`},
		},
		{
			name: "a pool gets ahead", old: poolOf("1.35.0", "1.1.0", nil),
			wire: func(shoot map[string]any) { in(worker(shoot), "kubernetes")["version"] = "1.36.3" },
			want: []string{"spec.provider.workers[0].kubernetes.version: Forbidden: worker pool version 1.36.3 must not be " +
				"higher than the control plane's, which is 1.35.0"},
		},
		{
			name: "an image that is not offered", old: poolOf("1.35.0", "1.1.0", nil),
			wire: func(shoot map[string]any) { in(worker(shoot), "machine", "image")["version"] = "7.0.0" },
			want: []string{`spec.provider.workers[0].machine.image.version: Unsupported value: "7.0.0": supported values: ` +
				`"1.1.0", "1.2.0"`},
		},
		{
			name: "what was expired before is not asked about", old: poolOf("1.34.1", "1.0.0", nil),
			wire: func(shoot map[string]any) { worker(shoot)["maximum"] = 9 },
		},
		{
			name: "the profile is gone when nothing of it is asked", old: poolOf("1.34.1", "1.0.0", nil),
			garden: func(g *garden) { g.profile = nil },
			wire:   func(shoot map[string]any) { in(shoot, "spec")["purpose"] = "testing" },
		},
		{
			name: "no profile", create: true, garden: func(g *garden) { g.profile = nil },
			want: []string{"spec.cloudProfile.name: Required value: must name the CloudProfile that offers the shoot's versions"},
		},
		{
			name: "nobody is kept from deleting", wire: kubernetes("1.0.0"),
			old: func(shoot *gardencorev1beta1.Shoot) { shoot.DeletionTimestamp = &metav1.Time{Time: testNow} },
		},
		{
			name: "a pool that is updated in place keeps its machines", old: poolOf("1.35.0", "1.1.0", inPlaceUpdated),
			wire: func(shoot map[string]any) { in(worker(shoot), "machine")["type"] = "large" },
			want: []string{"spec.provider.workers[0].machine.type: Forbidden: cannot be changed for a worker pool that is " +
				"updated in place"},
		},
		{
			name: "in place or not is decided once", old: poolOf("1.35.0", "1.1.0", inPlaceUpdated),
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "AutoRollingUpdate" },
			want: []string{"spec.provider.workers[0].updateStrategy: Forbidden: cannot be changed from AutoInPlaceUpdate to " +
				"AutoRollingUpdate"},
		},
		{
			name: "in place where that is not enabled", create: true, garden: func(g *garden) { g.inPlaceUpdates = false },
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "ManualInPlaceUpdate" },
			want: []string{`spec.provider.workers[0].updateStrategy: Unsupported value: "ManualInPlaceUpdate": supported ` +
				`values: "AutoRollingUpdate"`},
		},
		{
			name: "in place where that is enabled", create: true, garden: func(g *garden) { g.inPlaceUpdates = true },
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "ManualInPlaceUpdate" },
		},
		{
			name: "in place another way", old: poolOf("1.35.0", "1.1.0", inPlaceUpdated),
			wire: func(shoot map[string]any) { worker(shoot)["updateStrategy"] = "ManualInPlaceUpdate" },
		},
	})
}

func TestTimeWindow(t *testing.T) {
	t.Parallel()
	window := func(begin, end string) func(map[string]any) {
		return func(shoot map[string]any) {
			in(shoot, "spec", "maintenance")["timeWindow"] = map[string]any{"begin": begin, "end": end}
		}
	}
	testRules(t, []ruleCase{
		{name: "over midnight", wire: window("233000+0000", "010000+0000")},
		{name: "as short as can be", wire: window("220000+0100", "213000+0000")},
		{
			name: "too long", wire: window("220000+0000", "050000+0000"),
			want: []string{`spec.maintenance.timeWindow: Invalid value: "220000+0000 to 050000+0000": must be between 30m0s ` +
				`and 6h0m0s long, and is 7h0m0s`},
		},
		{
			name: "unreadable", wire: window("22:00", "050000+0000"),
			want: []string{`spec.maintenance.timeWindow.begin: Invalid value: "22:00": must be a time of the form ` +
				`HHMMSS+ZZZZ, for example 220000+0100`},
		},
		{
			name: "one that was there before", wire: func(shoot map[string]any) { in(shoot, "spec")["purpose"] = "testing" },
			old: func(shoot *gardencorev1beta1.Shoot) {
				shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{
					Begin: "x", End: "y"}}
			},
		},
	})
}

func TestProfileValidator(t *testing.T) {
	t.Parallel()
	request := func(operation admissionv1.Operation, change func(*gardencorev1beta1.CloudProfile)) admission.Request {
		old, now := testProfile(), testProfile()
		if change != nil {
			change(now)
		}
		encoded := func(profile *gardencorev1beta1.CloudProfile) runtime.RawExtension {
			content, err := json.Marshal(profile)
			if err != nil {
				t.Fatal(err)
			}
			return runtime.RawExtension{Raw: content}
		}
		r := admissionv1.AdmissionRequest{Operation: operation, Name: "profile"}
		r.Kind.Kind, r.Resource.Resource = "CloudProfile", "cloudprofiles"
		if operation != admissionv1.Delete {
			r.Object = encoded(now)
		}
		if operation != admissionv1.Create {
			r.OldObject = encoded(old)
		}
		return admission.Request{AdmissionRequest: r}
	}
	used := alpha()
	used.Spec.CloudProfileName, used.Spec.Kubernetes.Version = ptr.To("profile"), "1.35.0"
	for _, c := range []struct {
		name       string
		request    admission.Request
		unreadable bool
		code       int32
		message    string
	}{
		{name: "same", request: request("UPDATE", nil), code: http.StatusOK},
		{
			name: "new with a version that has expired", request: request("CREATE", nil), code: http.StatusUnprocessableEntity,
			message: `CloudProfile.core.gardener.cloud "profile" is invalid: [spec.kubernetes.versions[0].expirationDate: ` +
				`Invalid value: "2026-05-31T23:00:00Z": ` +
				`must not be in the past: version 1.34.1 is new, spec.machineImages[0].versions[0].expirationDate: Invalid ` +
				`value: "2026-05-31T23:00:00Z": must not be in the past: version 1.0.0 is new]`,
		},
		{
			name: "a version in use is taken away", code: http.StatusForbidden,
			request: request("UPDATE", func(p *gardencorev1beta1.CloudProfile) {
				p.Spec.Kubernetes.Versions = append(p.Spec.Kubernetes.Versions[:2:2], p.Spec.Kubernetes.Versions[3:]...)
			}),
			message: `cloudprofiles.core.gardener.cloud "profile" is forbidden: spec.kubernetes.versions: Forbidden: cannot ` +
				`remove the Kubernetes version 1.35.0: it is in use by shoot garden-p/alpha`,
		},
		{
			name: "deleted while in use", code: http.StatusForbidden, request: request("DELETE", nil),
			message: `cloudprofiles.core.gardener.cloud "profile" is forbidden: metadata.deletionTimestamp: Forbidden: the ` +
				`profile must not be deleted while it is in use by shoot garden-p/alpha`,
		},
		{name: "the garden cannot be read", unreadable: true, request: request("DELETE", nil),
			code: http.StatusInternalServerError, message: "list the shoots: no route"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			garden := fakeGarden(t, c.unreadable)
			if err := garden.Create(context.Background(), used.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			response := (&profileValidator{client: garden, clock: testClock()}).Handle(t.Context(), c.request)
			if response.Result.Code != c.code || response.Result.Message != c.message {
				t.Errorf("got %d %q, want %d %q", response.Result.Code, response.Result.Message, c.code, c.message)
			}
		})
	}
}

func TestVersionsAreCompleted(t *testing.T) {
	t.Parallel()
	with := func(change func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
		shoot := alpha()
		shoot.Spec.CloudProfileName = ptr.To("profile")
		poolOf("1.36.3", "1.1.0", nil)(shoot)
		if change != nil {
			change(shoot)
		}
		return shoot
	}
	type versions struct{ ControlPlane, Pool, Image string }
	noImage := func(shoot *gardencorev1beta1.Shoot) {
		poolOf("1.36.3", "", nil)(shoot)
		shoot.Spec.Provider.Workers[0].Machine.Image = nil
	}
	for _, c := range []struct {
		name     string
		old, now func(*gardencorev1beta1.Shoot)
		create   bool
		want     versions
		refusal  string
	}{
		{name: "minor", create: true, now: poolOf("1.34", "1.1.0", nil), want: versions{"1.34.2", "", "1.1.0"}},
		{name: "never a preview", create: true, now: poolOf("1.36", "1", nil), want: versions{"1.36.3", "", "1.2.0"}},
		{name: "nothing", create: true, now: poolOf("", "", nil), want: versions{"1.36.3", "", "1.2.0"}},
		{
			name: "nothing supported", create: true, now: poolOf("1.33", "1.1.0", nil),
			refusal: `Shoot.core.gardener.cloud "alpha" is invalid: spec.kubernetes.version: Invalid value: "1.33": complete ` +
				`the Kubernetes version "1.33": the CloudProfile has no supported version of it: name a version in full`,
		},
		{
			name: "a pool follows the control plane", create: true,
			now: func(shoot *gardencorev1beta1.Shoot) {
				poolOf("1.35", "1.0", func(w *gardencorev1beta1.Worker) {
					w.Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: ptr.To("1.35")}
				})(shoot)
				shoot.Spec.Provider.Workers[0].Machine.Image.Version = nil
			},
			want: versions{"1.35.0", "1.35.0", "1.2.0"},
		},
		{name: "asked for what it has", old: poolOf("1.34.1", "1.1.0", nil), now: poolOf("1.34", "1.1", nil),
			want: versions{"1.34.1", "", "1.1.0"}},
		{name: "on to another minor", old: poolOf("1.34.1", "1.1.0", nil), now: poolOf("1.35", "1.2", nil),
			want: versions{"1.35.0", "", "1.2.0"}},
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
			name: "a pool keeps the image that is left out", old: poolOf("1.35.0", "1.1.0", nil), now: noImage,
			want: versions{"1.36.3", "", "1.1.0"},
		},
		{name: "an old pool without an image", old: noImage, now: func(shoot *gardencorev1beta1.Shoot) {
			noImage(shoot)
			shoot.Spec.Kubernetes.Version = "1.36.4"
		}, want: versions{"1.36.4", "", ""}},
		{
			name: "an old gap stays", now: poolOf("1.36.4", "", nil), old: poolOf("1.36.3", "", nil),
			want: versions{"1.36.4", "", ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			request := review(t, "UPDATE", with(c.old), with(c.now))
			if c.create {
				request = review(t, "CREATE", nil, with(c.now))
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
