package resource

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

const (
	inSeed  = "shoot--p--alpha"
	one     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\ndata: {a: b}\n"
	two     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n"
	twoMode = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two, annotations: {resources.gardener.cloud/mode: " +
		"Ignore}}\n"
)

// bed is a seed with one ManagedResource and a shoot, both in memory.
type bed struct {
	t *testing.T
	*Reconciler
}

func newBed(t *testing.T, change func(*resourcesv1alpha1.ManagedResource), data map[string]string) *bed {
	t.Helper()
	managed := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "m",
		Generation: 3}}
	managed.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "s"}}
	if change != nil {
		change(managed)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "s"}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return &bed{t: t, Reconciler: &Reconciler{
		Source: fake.NewClientBuilder().WithScheme(SourceScheme()).WithStatusSubresource(managed).WithObjects(managed,
			secret).Build(),
		Target:     fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithRESTMapper(mapper).Build(),
		Clock:      testingclock.NewFakePassiveClock(time.Unix(1000, 0)),
		SyncPeriod: time.Minute, PollPeriod: time.Second,
	}}
}

func (b *bed) round() (*resourcesv1alpha1.ManagedResource, reconcile.Result, error) {
	b.t.Helper()
	key := client.ObjectKey{Namespace: inSeed, Name: "m"}
	result, err := b.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: key})
	managed := &resourcesv1alpha1.ManagedResource{}
	if getErr := b.Source.Get(b.t.Context(), key, managed); getErr != nil {
		if !apierrors.IsNotFound(getErr) {
			b.t.Fatal(getErr)
		}
		managed = nil
	}
	return managed, result, err
}

func (b *bed) rewrite(data map[string]string) {
	b.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inSeed, Name: "s"}}
	b.must(b.Source.Get(b.t.Context(), client.ObjectKeyFromObject(secret), secret))
	secret.Data = map[string][]byte{}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	b.must(b.Source.Update(b.t.Context(), secret))
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) configMaps() []string {
	b.t.Helper()
	list := &corev1.ConfigMapList{}
	b.must(b.Target.List(context.Background(), list))
	names := []string{}
	for _, item := range list.Items {
		names = append(names, item.Namespace+"/"+item.Name)
	}
	return names
}

func reasons(m *resourcesv1alpha1.ManagedResource) map[string]string {
	found := map[string]string{}
	for _, c := range m.Status.Conditions {
		found[string(c.Type)] = string(c.Status) + " " + c.Reason
	}
	return found
}

func compressed(t *testing.T, text string) string {
	t.Helper()
	buffer := &bytes.Buffer{}
	w := brotli.NewWriter(buffer)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

func TestObjectsAreAppliedWithLabelsAndReported(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(m *resourcesv1alpha1.ManagedResource) { m.Spec.InjectLabels = map[string]string{"no": "cleanup"} },
		map[string]string{"a.yaml": "---\n" + one + "---\n# nothing\n", "b.yaml.br": compressed(t, two)})
	managed, result, err := b.round()
	b.must(err)
	if diff := cmp.Diff([]string{"default/one", "default/two"}, b.configMaps()); diff != "" {
		t.Error(diff)
	}
	cm := &corev1.ConfigMap{}
	b.must(b.Target.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "one"}, cm))
	if diff := cmp.Diff(map[string]string{"no": "cleanup", "resources.gardener.cloud/managed-by": "gardener"},
		cm.Labels); diff != "" {
		t.Error(diff)
	}
	if got := cm.Annotations["resources.gardener.cloud/origin"]; got != inSeed+"/m" {
		t.Errorf("the origin is %q", got)
	}
	if diff := cmp.Diff([]string{"resources.gardener.cloud/gardener-resource-manager"}, managed.Finalizers); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"ResourcesApplied": "True ApplySucceeded", "ResourcesHealthy": "True ResourcesHealthy",
		"ResourcesProgressing": "False ResourcesRolledOut"}
	if diff := cmp.Diff(want, reasons(managed)); diff != "" {
		t.Error(diff)
	}
	if managed.Status.ObservedGeneration != 3 || ptr.Deref(managed.Status.SecretsDataChecksum, "") == "" ||
		len(managed.Status.Resources) != 2 {
		t.Errorf("got status %+v", managed.Status)
	}
	if result.RequeueAfter != time.Minute {
		t.Errorf("it looks again after %s", result.RequeueAfter)
	}
}

func TestWhatIsNotInTheManifestsAnyMoreIsDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then map[string]string
		want []string
		left int
	}{
		"removed": {map[string]string{"a": one}, []string{"default/one"}, 1},
		"released": {map[string]string{"a": one + "---\n" + twoMode},
			[]string{"default/one", "default/two"}, 1},
		"nothing goes while a file is a riddle": {map[string]string{"a": one, "b": "{"},
			[]string{"default/one", "default/two"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil, map[string]string{"a": one + "---\n" + two})
			_, _, err := b.round()
			b.must(err)
			b.rewrite(c.then)
			managed, _, err := b.round()
			b.must(err)
			if diff := cmp.Diff(c.want, b.configMaps()); diff != "" {
				t.Error(diff)
			}
			if len(managed.Status.Resources) != c.left {
				t.Errorf("the status has %d objects, want %d", len(managed.Status.Resources), c.left)
			}
		})
	}
}

func TestOneBadManifestLeavesTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad, reason string
		fails       bool
		says        []string
		observed    int64
	}{
		"not an object": {"kind: ConfigMap\nmetadata: {name: bad}\n", "False DecodingFailed", false,
			[]string{`"s"`, `"b"`, `"bad"`}, 3},
		"unknown kind": {"apiVersion: x/v1\nkind: Zed\nmetadata: {name: bad}\n", "False ApplyFailed", true,
			[]string{`x/v1 Zed "bad"`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil, map[string]string{"a": one, "b": c.bad, "c": two})
			managed, _, err := b.round()
			if (err != nil) != c.fails {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff([]string{"default/one", "default/two"}, b.configMaps()); diff != "" {
				t.Error(diff)
			}
			if got := reasons(managed)["ResourcesApplied"]; got != c.reason {
				t.Errorf("got %q, want %q", got, c.reason)
			}
			for _, part := range c.says {
				if message := managed.Status.Conditions[2].Message; !strings.Contains(message, part) {
					t.Errorf("%q does not name %s", message, part)
				}
			}
			if managed.Status.ObservedGeneration != c.observed {
				t.Errorf("observed generation %d, want %d", managed.Status.ObservedGeneration, c.observed)
			}
		})
	}
}

func TestDeletion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep bool
		take string // who the object is from when it is deleted
		want []string
	}{
		"takes the objects with it":             {false, "", []string{}},
		"keeps them if it is to":                {true, "", []string{"default/one"}},
		"keeps what another one has taken over": {false, inSeed + "/other", []string{"default/one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, func(m *resourcesv1alpha1.ManagedResource) {
				m.Spec.KeepObjects = ptr.To(c.keep)
			}, map[string]string{"a": one})
			managed, _, err := b.round()
			b.must(err)
			if c.take != "" {
				cm := &corev1.ConfigMap{}
				b.must(b.Target.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "one"}, cm))
				cm.Annotations["resources.gardener.cloud/origin"] = c.take
				b.must(b.Target.Update(t.Context(), cm))
			}
			b.must(b.Source.Delete(t.Context(), managed))
			managed, _, err = b.round()
			b.must(err)
			if managed != nil {
				t.Errorf("it is still there: %+v", managed)
			}
			if diff := cmp.Diff(c.want, b.configMaps()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnObjectThatHoldsOnKeepsTheManagedResource(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil, map[string]string{"a": strings.Replace(one, "namespace: default",
		"namespace: default, finalizers: [x/y]", 1)})
	managed, _, err := b.round()
	b.must(err)
	b.must(b.Source.Delete(t.Context(), managed))
	managed, result, err := b.round()
	b.must(err)
	if managed == nil || reasons(managed)["ResourcesApplied"] != "Progressing DeletionPending" ||
		result.RequeueAfter != time.Second {
		t.Errorf("got %+v, %+v", managed, result)
	}
}

func TestWhoseItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*resourcesv1alpha1.ManagedResource)
		applied string
		want    []string
	}{
		"of the seed": {func(m *resourcesv1alpha1.ManagedResource) { m.Spec.Class = ptr.To("seed") }, "", []string{}},
		"ignored": {func(m *resourcesv1alpha1.ManagedResource) {
			m.Annotations = map[string]string{"resources.gardener.cloud/ignore": "true"}
		}, "True ManagedResourceIgnored", []string{}},
		"still owned by another class": {func(m *resourcesv1alpha1.ManagedResource) {
			m.Finalizers = []string{"resources.gardener.cloud/gardener-resource-manager-seed"}
		}, "", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, c.change, map[string]string{"a": one})
			managed, _, err := b.round()
			b.must(err)
			if diff := cmp.Diff(c.want, b.configMaps()); diff != "" {
				t.Error(diff)
			}
			if got := reasons(managed)["ResourcesApplied"]; got != c.applied {
				t.Errorf("got %q, want %q", got, c.applied)
			}
		})
	}
}

func TestASecretThatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(m *resourcesv1alpha1.ManagedResource) { m.Spec.SecretRefs[0].Name = "none" }, nil)
	managed, _, err := b.round()
	if !apierrors.IsNotFound(err) {
		t.Errorf("got error %v", err)
	}
	if got := reasons(managed)["ResourcesApplied"]; got != "False CannotReadSecret" {
		t.Errorf("got %q", got)
	}
}

func TestConditionsKeepTheirTransition(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{Clock: clock}
	status := &resourcesv1alpha1.ManagedResourceStatus{}
	r.setConditions(status, applied(gardencorev1beta1.ConditionTrue, "A", ""))
	clock.SetTime(time.Unix(2000, 0))
	r.setConditions(status, applied(gardencorev1beta1.ConditionTrue, "B", ""))
	c := status.Conditions[0]
	if len(status.Conditions) != 1 || c.LastTransitionTime.Unix() != 1000 || c.LastUpdateTime.Unix() != 2000 ||
		c.Reason != "B" {
		t.Errorf("got %+v", status.Conditions)
	}
}
