package v1alpha1_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := extensionsv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// Whoever adds a type adds its kind.
func TestKindsAreComplete(t *testing.T) {
	t.Parallel()
	var want, got []string
	for name, goType := range scheme(t).KnownTypes(extensionsv1alpha1.SchemeGroupVersion) {
		if strings.HasPrefix(goType.PkgPath(), "k8s.io/") || strings.HasSuffix(name, "List") || name == "Cluster" {
			continue
		}
		want = append(want, name)
	}
	slices.Sort(want)
	for _, kind := range extensionsv1alpha1.Kinds() {
		got = append(got, kind.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-in the scheme +in the list):\n%s", diff)
	}
}

// Constructors, lists and accessors of each kind belong to it.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range extensionsv1alpha1.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			for want, object := range map[string]runtime.Object{kind.Name: kind.New(), kind.Name + "List": kind.NewList()} {
				gvks, _, err := scheme(t).ObjectKinds(object)
				if err != nil || len(gvks) != 1 || gvks[0].Kind != want {
					t.Errorf("constructor of %s makes %v, %v", want, gvks, err)
				}
			}
			list := kind.NewList()
			items := reflect.ValueOf(list).Elem().FieldByName("Items")
			items.Set(reflect.MakeSlice(items.Type(), 2, 2))
			list.Objects()[1].SetName("second")
			if got := items.Index(1).Addr().Interface().(metav1.Object).GetName(); len(list.Objects()) != 2 || got != "second" {
				t.Errorf("Objects is not the list's own memory: %q", got)
			}
			checkAccessors(t, kind.New())
		})
	}
}

func checkAccessors(t *testing.T, object extensionsv1alpha1.Object) {
	t.Helper()
	status := object.GetExtensionStatus()
	status.SetLastOperation(&gardencorev1beta1.LastOperation{State: "Succeeded"})
	status.SetLastError(&gardencorev1beta1.LastError{Description: "boom"})
	status.SetObservedGeneration(7)
	status.SetConditions([]gardencorev1beta1.Condition{{Type: "Healthy"}})
	status.SetState(&runtime.RawExtension{Raw: []byte(`{"s":1}`)})
	status.SetProviderStatus(&runtime.RawExtension{Raw: []byte(`{"p":1}`)})
	status.SetResources([]gardencorev1beta1.NamedResourceReference{{Name: "r"}})
	reflect.ValueOf(object).Elem().FieldByName("Spec").FieldByName("DefaultSpec").Set(
		reflect.ValueOf(extensionsv1alpha1.DefaultSpec{
			Type: "type", Class: ptr.To(extensionsv1alpha1.ExtensionClassSeed),
			ProviderConfig: &runtime.RawExtension{Raw: []byte(`{}`)},
		}))

	again := object.DeepCopyObject().(extensionsv1alpha1.Object)
	spec, status := again.GetExtensionSpec(), again.GetExtensionStatus()
	got := []any{
		spec.GetExtensionType(), *spec.GetExtensionClass(), string(spec.GetProviderConfig().Raw),
		string(status.GetLastOperation().State), status.GetLastError().Description, status.GetObservedGeneration(),
		string(status.GetConditions()[0].Type), string(status.GetState().Raw), string(status.GetProviderStatus().Raw),
		status.GetResources()[0].Name,
	}
	want := []any{"type", extensionsv1alpha1.ExtensionClass("seed"), "{}", "Succeeded", "boom", int64(7), "Healthy",
		`{"s":1}`, `{"p":1}`, "r"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("accessors (-want +got):\n%s", diff)
	}
}

func TestPurpose(t *testing.T) {
	t.Parallel()
	config := &extensionsv1alpha1.OperatingSystemConfig{Spec: extensionsv1alpha1.OperatingSystemConfigSpec{
		Purpose: "provision"}}
	if got := config.GetExtensionSpec().GetExtensionPurpose(); got == nil || *got != "provision" {
		t.Errorf("the purpose of an OperatingSystemConfig is %v, want provision", got)
	}
	if got := (&extensionsv1alpha1.Infrastructure{}).GetExtensionSpec().GetExtensionPurpose(); got != nil {
		t.Errorf("an Infrastructure has the purpose %q, want none", *got)
	}
}

func TestKindByName(t *testing.T) {
	t.Parallel()
	if kind, ok := extensionsv1alpha1.KindByName("Worker"); !ok || kind.Resource != "workers" {
		t.Errorf("Worker is %+v, %v", kind, ok)
	}
	if _, ok := extensionsv1alpha1.KindByName("Cluster"); ok {
		t.Error("Cluster is taken for an extension object")
	}
}

// The literal lists are those of docs/specification/extensions.md#spec-3-4 and
// docs/specification/migration.md#spec-2-8.
func TestWhatKindsDo(t *testing.T) {
	t.Parallel()
	var clusterScoped, stay, stateless []string
	for _, kind := range extensionsv1alpha1.Kinds() {
		if !kind.Namespaced {
			clusterScoped = append(clusterScoped, kind.Name)
		}
		if !kind.Migrates {
			stay = append(stay, kind.Name)
		}
		if !kind.Stateful {
			stateless = append(stateless, kind.Name)
		}
	}
	for name, pair := range map[string][2][]string{
		"cluster-scoped": {{"BackupBucket", "BackupEntry"}, clusterScoped},
		"not migrated":   {{"BackupBucket", "Bastion", "SelfHostedShootExposure"}, stay},
		"without state":  {{"BackupBucket", "Bastion"}, stateless},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("kinds that are %s (-want +got):\n%s", name, diff)
		}
	}
}
