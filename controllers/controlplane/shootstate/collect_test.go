package shootstate

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/jsonloss"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

const namespace = "shoot--p--alpha"

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

func collect(t *testing.T, objects ...client.Object) (*State, error) {
	t.Helper()
	seed := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(objects...).Build()
	return Collect(t.Context(), seed, namespace, "shoot--p--alpha--uid")
}

func TestCollectTakesWhatMustNotBeLost(t *testing.T) {
	t.Parallel()
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta("alpha")}
	infrastructure.Status.State = raw(`{"network":"n-1"}`)
	stateless := &extensionsv1alpha1.Network{ObjectMeta: meta("alpha")}
	deleting := &extensionsv1alpha1.ControlPlane{ObjectMeta: meta("alpha")}
	now := metav1.Now()
	deleting.DeletionTimestamp, deleting.Finalizers = &now, []string{"stays"}
	deleting.Status.State = raw(`{}`)
	mine := &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha--uid"}}
	mine.Status.State = raw(`{"mine":true}`)
	others := &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--beta--uid"}}
	others.Status.State = raw(`{"mine":false}`)
	persisted := &corev1.Secret{ObjectMeta: meta("ca"), Data: map[string][]byte{"k": []byte("v")}}
	persisted.Labels = map[string]string{"persist": "true", "own": "label"}
	derived := &corev1.Secret{ObjectMeta: meta("etcd-server")}

	state, err := collect(t, infrastructure, stateless, deleting, mine, others, persisted, derived)
	if err != nil {
		t.Fatal(err)
	}
	want := &State{
		Secrets: []*corev1.Secret{{
			ObjectMeta: metav1.ObjectMeta{Name: "ca", Labels: persisted.Labels}, Data: persisted.Data,
		}},
		Extensions: []ExtensionState{
			{Kind: "BackupEntry", Name: "shoot--p--alpha--uid", State: raw(`{"mine":true}`)},
			{Kind: "Infrastructure", Name: "alpha", State: raw(`{"network":"n-1"}`)},
		},
	}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// A reference to nothing must not be saved as an empty object (docs/specification/quirks.md#quirk-s1).
func TestCollectRefusesAReferenceToNothing(t *testing.T) {
	t.Parallel()
	extension := &extensionsv1alpha1.Extension{ObjectMeta: meta("certs")}
	reference := gardencorev1beta1.NamedResourceReference{Name: "tls"}
	reference.ResourceRef.APIVersion, reference.ResourceRef.Kind, reference.ResourceRef.Name = "v1", "Secret", "tls"
	extension.Status.Resources = []gardencorev1beta1.NamedResourceReference{reference}
	_, err := collect(t, extension)
	if err == nil || !strings.Contains(err.Error(), `"tls"`) || !strings.Contains(err.Error(), `Extension "certs"`) {
		t.Errorf("got %v, want an error that names the extension and what it refers to", err)
	}
}

func TestMachinesThatExistNowhereAreLeftOut(t *testing.T) {
	t.Parallel()
	owned := func(name, uid, by string) metav1.ObjectMeta {
		m := meta(name)
		m.UID = "uid-" + runtimeUID(uid)
		if by != "" {
			m.OwnerReferences = []metav1.OwnerReference{{UID: "uid-" + runtimeUID(by), Name: by}}
		}
		return m
	}
	deployment := &machinev1alpha1.MachineDeployment{ObjectMeta: owned("d", "d", "")}
	deployment.Spec.Replicas = 2
	empty := &machinev1alpha1.MachineDeployment{ObjectMeta: owned("without-sets", "e", "")}
	set := &machinev1alpha1.MachineSet{ObjectMeta: owned("s", "s", "d")}
	running := &machinev1alpha1.Machine{ObjectMeta: owned("running", "m1", "s")}
	running.Spec.ProviderID = "transplant:///1"
	running.Status.CurrentStatus.Phase = "Running"
	created := &machinev1alpha1.Machine{ObjectMeta: owned("never-created", "m2", "s")}

	state, err := collect(t, deployment, empty, set, running, created)
	if err != nil {
		t.Fatal(err)
	}
	text := string(state.Machines.Raw)
	for word, want := range map[string]bool{
		`"running"`: true, `"transplant:///1"`: true, `"replicas":2`: true,
		`"never-created"`: false, `"without-sets"`: false, `"Running"`: false, `"ownerReferences"`: false, `"uid"`: false,
	} {
		if strings.Contains(text, word) != want {
			t.Errorf("machine state contains %s: %t, want %t\n%s", word, !want, want, text)
		}
	}
}

// A set of an older class replaces its machines while a pool is updated: without its class it could not after a move.
func TestCollect_MachineClassesInUse_AreSavedWithTheirSecrets(t *testing.T) {
	t.Parallel()
	owned := func(name, by string) metav1.ObjectMeta {
		m := meta(name)
		m.UID = runtimeUID(name)
		if by != "" {
			m.OwnerReferences = []metav1.OwnerReference{{UID: runtimeUID(by), Name: by}}
		}
		return m
	}
	class := func(name, secret string) client.Object {
		return &machinev1alpha1.MachineClass{
			ObjectMeta: meta(name), ProviderSpec: runtime.RawExtension{Raw: []byte(`{"image":"of-` + name + `"}`)},
			SecretRef: &corev1.SecretReference{Namespace: namespace, Name: secret},
		}
	}
	userData := &corev1.Secret{ObjectMeta: meta("old"), Data: map[string][]byte{"userData": []byte("boot")}}
	userData.Labels = map[string]string{"gardener.cloud/purpose": "machineclass"}
	credentials := &corev1.Secret{ObjectMeta: meta("cloud"), Data: map[string][]byte{"key": []byte("hidden")}}
	set := &machinev1alpha1.MachineSet{ObjectMeta: owned("s", "d")}
	set.Spec.Template.Spec.Class.Name = "old"
	machine := &machinev1alpha1.Machine{ObjectMeta: owned("m", "s")}
	machine.Spec.ProviderID, machine.Spec.Class.Name = "transplant:///1", "older"
	state, err := collect(t, &machinev1alpha1.MachineDeployment{ObjectMeta: owned("d", "")}, set, machine, userData,
		credentials,
		class("old", "old"), class("older", "cloud"), class("unused", "unused"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(state.Machines.Raw)
	for word, want := range map[string]bool{
		`"of-old"`: true, `"of-older"`: true, `"userData":"Ym9vdA=="`: true, `"apiVersion":"v1","data"`: true,
		`"of-unused"`: false, `"key"`: false, `"uid"`: false,
	} {
		if strings.Contains(text, word) != want {
			t.Errorf("machine state contains %s: %t, want %t\n%s", word, !want, want, text)
		}
	}
}

// Machine controllers of others give machines fields that our types do not model: a move must not lose them.
func TestEveryFieldOfAMachineIsKept(t *testing.T) {
	t.Parallel()
	object := func(kind, name, owner, more string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		text := fmt.Sprintf(
			`{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":%q,`+
				`"ownerReferences":[{"uid":%q}],"labels":{"node":"n"},"annotations":{"note":"kept"}}%s}`, kind, name, namespace,
			name, owner, more)
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	set := object("MachineSet", "s", "d",
		`,"spec":{"replicas":1,"ofTheDay":{"after":["tomorrow"]},"template":{"spec":{"bootDisk":"ssd"}}},"top":7`)
	machine := object("Machine", "m", "s", `,"spec":{"providerID":"x:///1","ofTheDay":true},"top":"level"`)
	// A fake API server keeps the fields of types that it does not know.
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, extensionsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	seed := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object("MachineDeployment", "d", "",
		`,"spec":{"replicas":1}`), set, machine).Build()
	state, err := Collect(t.Context(), seed, namespace, "shoot--p--alpha--uid")
	if err != nil {
		t.Fatal(err)
	}
	var saved struct {
		MachineDeployments map[string]struct {
			Replicas              int
			MachineSets, Machines []map[string]any
		}
	}
	if err := json.Unmarshal(state.Machines.Raw, &saved); err != nil {
		t.Fatal(err)
	}
	d := saved.MachineDeployments["d"]
	if d.Replicas != 1 || len(d.MachineSets) != 1 || len(d.Machines) != 1 {
		t.Fatalf("saved is %s", state.Machines.Raw)
	}
	for before, after := range map[*unstructured.Unstructured]map[string]any{set: d.MachineSets[0],
		machine: d.Machines[0]} {
		for _, anew := range []string{"uid", "ownerReferences", "resourceVersion"} {
			unstructured.RemoveNestedField(before.Object, "metadata", anew)
		}
		lost, err := jsonloss.Between(before, after)
		if err != nil || len(lost) > 0 {
			t.Errorf("%s lost %v, %v", before.GetKind(), lost, err)
		}
	}
}

type runtimeUID = types.UID

// The form that the field's own implementation writes is read, and what is written has the same form.
func TestOracleWireForm(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/shootstate.json")
	if err != nil {
		t.Fatal(err)
	}
	object := &gardencorev1beta1.ShootState{}
	if err := yaml.Unmarshal(content, object); err != nil {
		t.Fatal(err)
	}
	state, damages := decode(&object.Spec, nil)
	if len(damages) > 0 {
		t.Fatal(damages)
	}
	want, err := os.ReadFile("testdata/machine-state.json")
	if err != nil {
		t.Fatal(err)
	}
	wantMachines, _ := yaml.YAMLToJSON(want)
	gotMachines, _ := yaml.YAMLToJSON(state.Machines.Raw)
	if diff := cmp.Diff(string(wantMachines), string(gotMachines)); diff != "" {
		t.Errorf("machine state (-want +got):\n%s", diff)
	}
	again, err := encode(state)
	if err != nil {
		t.Fatal(err)
	}
	back, damages := decode(again, nil)
	if len(damages) > 0 {
		t.Fatal(damages)
	}
	if diff := cmp.Diff(state, back); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s", diff)
	}
}
