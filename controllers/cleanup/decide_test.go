package cleanup

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func object(apiVersion, kind, name string, change ...func(*metav1.PartialObjectMetadata)) metav1.PartialObjectMetadata {
	o := metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-24 * time.Hour))},
	}
	if namespace, local, found := strings.Cut(name, "/"); found {
		o.Namespace, o.Name = namespace, local
	} else {
		o.Name = name
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func deleted(before time.Duration, finalizers ...string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.DeletionTimestamp, o.Finalizers = &metav1.Time{Time: noon.Add(-before)}, finalizers
	}
}

func made(after time.Duration) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { o.CreationTimestamp = metav1.NewTime(noon.Add(after)) }
}

func actions(plan *Plan) []string {
	var actions []string
	for _, d := range plan.Decisions {
		text := fmt.Sprintf("%s %s: %s", d.Object.Kind, d.Object.Name, d.Action)
		if d.Tolerated {
			text += ", tolerated"
		}
		if d.ReleaseSnapshot {
			text += ", snapshot released"
		}
		actions = append(actions, text)
	}
	return actions
}

// TestStepsAreTakenInOrder: nothing of a later step is touched while an earlier one is not done.
func TestStepsAreTakenInOrder(t *testing.T) {
	t.Parallel()
	all := []metav1.PartialObjectMetadata{
		object("v1", "ConfigMap", "shop/settings"),
		object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "shop/backup"),
		object("v1", "Pod", "shop/b"), object("v1", "Pod", "shop/a"), object("apps/v1", "Deployment", "shop/web"),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com"),
		object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "policy",
			deleted(time.Minute, "example.com/hold")),
	}
	for _, c := range []struct {
		gone int // from the end
		step Step
		want []string
	}{
		{0, Webhooks, []string{
			"ValidatingWebhookConfiguration policy: wait", "CustomResourceDefinition things.example.com: queue",
			"Deployment web: queue", "Pod a: queue", "Pod b: queue",
			"VolumeSnapshot backup: queue", "ConfigMap settings: keep",
		}},
		{1, ExtendedAPIs, []string{"CustomResourceDefinition things.example.com: delete", "Deployment web: queue",
			"Pod a: queue", "Pod b: queue", "VolumeSnapshot backup: queue", "ConfigMap settings: keep"}},
		{2, KubernetesResources, []string{"Deployment web: delete", "Pod a: delete", "Pod b: delete",
			"VolumeSnapshot backup: queue", "ConfigMap settings: keep"}},
		{5, VolumeSnapshots, []string{"VolumeSnapshot backup: delete", "ConfigMap settings: keep"}},
		{6, 0, []string{"ConfigMap settings: keep"}},
	} {
		plan, err := Decide(Cluster{Objects: all[:len(all)-c.gone], Start: noon}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, actions(plan)); diff != "" || plan.Step != c.step {
			t.Errorf("without the last %d: step %s (-want +got):\n%s", c.gone, plan.Step, diff)
		}
		if (plan.Err() == nil) != (c.step == 0) {
			t.Errorf("without the last %d: error %v", c.gone, plan.Err())
		}
	}
}

// TestTolerated: docs/specification/cleanup.md#spec-6-6. What nobody waits for is dealt with all the same.
func TestTolerated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		object      metav1.PartialObjectMetadata
		annotations map[string]string
		namespaces  []string
		step        Step
		want        string
	}{
		{name: "in a namespace that is gone", object: object("v1", "Pod", "gone/a"), namespaces: []string{"shop"},
			want: "Pod a: delete, tolerated"},
		{name: "in a namespace that is gone, deleted long ago",
			object: object("v1", "Pod", "gone/a", deleted(time.Hour, "f")), namespaces: []string{"shop"},
			want: "Pod a: wait, tolerated"},
		{name: "in a namespace that is there", object: object("v1", "Pod", "shop/a"), namespaces: []string{"shop"},
			step: KubernetesResources, want: "Pod a: delete"},
		{name: "nobody knows the namespaces", object: object("v1", "Pod", "shop/a"), step: KubernetesResources,
			want: "Pod a: delete"},
		{name: "made before the limit", object: object("v1", "Pod", "shop/a", made(-5*time.Minute)),
			step: KubernetesResources, want: "Pod a: delete"},
		{name: "made after the limit", object: object("v1", "Pod", "shop/a", made(-5*time.Minute+time.Second)),
			want: "Pod a: delete, tolerated"},
		{name: "made after the limit, stuck", object: object("v1", "Pod", "shop/a", made(-time.Minute),
			deleted(301*time.Second, "f")), want: "Pod a: finalize, tolerated"},
		{name: "a higher limit by annotation", object: object("v1", "Pod", "shop/a", made(-4*time.Minute)),
			annotations: map[string]string{kubernetesKey: "600"}, step: KubernetesResources, want: "Pod a: delete"},
		{name: "a lower limit by annotation", object: object("v1", "Pod", "shop/a", made(-9*time.Minute)),
			annotations: map[string]string{kubernetesKey: "30"}, want: "Pod a: delete, tolerated"},
		{name: "snapshots too, with their own limit", object: object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "shop/a",
			made(-time.Minute)), step: VolumeSnapshots, want: "VolumeSnapshot a: delete"},
		{name: "snapshots in a namespace that is gone", object: object("snapshot.storage.k8s.io/v1", "VolumeSnapshot",
			"gone/a"), namespaces: []string{}, want: "VolumeSnapshot a: delete, tolerated"},
		{name: "not in other steps", object: object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a",
			made(-time.Second)), step: ExtendedAPIs, want: "CustomResourceDefinition a: delete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster := Cluster{Annotations: c.annotations, Objects: []metav1.PartialObjectMetadata{c.object},
				Namespaces: c.namespaces, Start: noon.Add(-10 * time.Minute)}
			plan, err := Decide(cluster, noon)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want}, actions(plan)); diff != "" || plan.Step != c.step {
				t.Errorf("step %s because %s (-want +got):\n%s", plan.Step, plan.Decisions[0].Why, diff)
			}
		})
	}
}

// TestSnapshotsAreReleased: docs/specification/cleanup.md#spec-6-4, after the grace period and once.
func TestSnapshotsAreReleased(t *testing.T) {
	t.Parallel()
	content := func(before time.Duration, annotations map[string]string) metav1.PartialObjectMetadata {
		o := object("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", "c", deleted(before, "f"))
		o.Annotations = annotations
		return o
	}
	released, creating := map[string]string{SnapshotBeingDeleted: "yes"}, map[string]string{SnapshotBeingDeleted: "yes",
		SnapshotBeingCreated: "yes"}
	for name, c := range map[string]struct {
		object metav1.PartialObjectMetadata
		want   string
	}{
		"within the grace period":  {content(300*time.Second, nil), "VolumeSnapshotContent c: wait"},
		"after the grace period":   {content(301*time.Second, nil), "VolumeSnapshotContent c: wait, snapshot released"},
		"released already":         {content(time.Hour, released), "VolumeSnapshotContent c: wait"},
		"still said to be created": {content(time.Hour, creating), "VolumeSnapshotContent c: wait, snapshot released"},
		"at the end":               {content(time.Hour+time.Second, released), "VolumeSnapshotContent c: finalize"},
		"snapshots know no such way": {object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "shop/c",
			deleted(time.Hour, "f")), "VolumeSnapshot c: wait"},
		"nobody has deleted it yet": {object("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", "c"),
			"VolumeSnapshotContent c: delete"},
	} {
		plan, err := Decide(Cluster{Objects: []metav1.PartialObjectMetadata{c.object}, Start: noon}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{c.want}, actions(plan)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// TestRemaining: the error names what hangs, and nothing else.
func TestRemaining(t *testing.T) {
	t.Parallel()
	cluster := Cluster{Start: noon.Add(-time.Hour), Objects: []metav1.PartialObjectMetadata{
		object("v1", "PersistentVolumeClaim", "shop/data", deleted(time.Minute, "kubernetes.io/pvc-protection")),
		object("v1", "Service", "shop/web"),
		object("v1", "Pod", "shop/new", made(-time.Second)), object("v1", "ConfigMap", "shop/c"),
	}}
	plan, err := Decide(cluster, noon)
	if err != nil {
		t.Fatal(err)
	}
	got := plan.Err()
	remaining := &Remaining{}
	if !errors.As(got, &remaining) || remaining.Step != KubernetesResources {
		t.Fatalf("error %v", got)
	}
	if want := "step 3 of the clean-up, kubernetes resources, is not done: objects are still present: Service shop/web," +
		" PersistentVolumeClaim shop/data (finalizers kubernetes.io/pvc-protection)"; got.Error() != want {
		t.Errorf("error %q", got)
	}
	if diff := cmp.Diff([]gardencorev1beta1.ErrorCode{"ERR_CLEANUP_CLUSTER_RESOURCES"}, remaining.Codes()); diff != "" {
		t.Error(diff)
	}
	for i := range 30 {
		cluster.Objects = append(cluster.Objects, object("v1", "Pod", fmt.Sprintf("shop/p%02d", i)))
	}
	if plan, err = Decide(cluster, noon); err != nil || !strings.HasSuffix(plan.Err().Error(),
		"Pod shop/p19, and 12 more") {
		t.Errorf("error %v, %v", plan.Err(), err)
	}
}

// TestAnnotationsThatAreNoNumbers are errors of their own step.
func TestAnnotationsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"soon", "5m", "", "-1", "1.5"} {
		cluster := Cluster{
			Annotations: map[string]string{kubernetesKey: text},
			Objects: []metav1.PartialObjectMetadata{object("v1", "Pod", "shop/a"),
				object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "x")},
		}
		plan, err := Decide(cluster, noon)
		if err != nil || plan.Step != ExtendedAPIs {
			t.Errorf("%q: an earlier step: %v", text, err)
		}
		cluster.Objects = cluster.Objects[:1]
		want := fmt.Sprintf(`read annotation %s: %q is no number of seconds: write one such as "300", or "0" for at once`,
			kubernetesKey, text)
		if _, err := Decide(cluster, noon); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	start, note, err := Start(nil, noon.Add(time.Millisecond))
	if err != nil || !start.Equal(noon) || note != "2026-11-21T12:00:00Z" {
		t.Errorf("%s, %q, %v", start, note, err)
	}
	key := "shoot.gardener.cloud/cleanup-kubernetes-resources-start-time"
	start, note, err = Start(map[string]string{key: note}, noon.Add(time.Hour))
	if err != nil || !start.Equal(noon) || note != "" {
		t.Errorf("%s, %q, %v", start, note, err)
	}
	if _, _, err := Start(map[string]string{key: "noon"}, noon); err == nil || !strings.HasPrefix(err.Error(),
		"read annotation "+key) {
		t.Errorf("error %v", err)
	}
}
