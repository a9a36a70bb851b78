package extension

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/infrastructure"
	"github.com/transplant-sim/transplant/controllers/extension/managed"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// TestD4LostState: with the state lost, what carries a tag is adopted, what carries none is not made a second time, and
// an operator who names it gets on.
func TestD4LostState(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	o := infrastructureObject()
	a := reconciled(t, c, o)
	before := c.IDs()
	known := infrastructure.State{}
	if err := reference.Decode(o.Status.State, &known); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "b", c, 2)
	there := infrastructureObject()
	there.UID = "uid-on-b"
	b.create(there)
	b.annotate(there, "restore")
	if _, err := b.once(there); !errors.Is(err, infrastructure.ErrStateLost) {
		t.Fatalf("a restoration without state ended with %v", err)
	}
	if diff := cmp.Diff(before, c.IDs()); diff != "" {
		t.Errorf("the cloud has changed: %s", diff)
	}
	b.get(there)
	if codes := there.Status.LastError.Codes; !slices.Equal(codes,
		[]gardencorev1beta1.ErrorCode{"ERR_INFRA_DEPENDENCIES"}) {
		t.Errorf("codes are %v", codes)
	}
	b.change(there, func() {
		there.Spec.ProviderConfig = reference.Encode(infrastructure.Config{RouterID: known.RouterID,
			SecurityGroupID: known.SecurityGroupID})
	})
	b.settle(there)
	b.get(there)
	a.get(o)
	if diff := cmp.Diff(before, c.IDs()); diff != "" {
		t.Errorf("the cloud has changed: %s", diff)
	}
	if diff := cmp.Diff(o.Status.ProviderStatus, there.Status.ProviderStatus); diff != "" {
		t.Errorf("what was adopted differs: %s", diff)
	}
}

// TestInfrastructureTakesWhatIsLeft: load balancers and volumes that the shoot's own controllers could not remove go
// with the infrastructure, those of other shoots do not (docs/specification/cleanup.md#spec-6-7).
func TestInfrastructureTakesWhatIsLeft(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	o := infrastructureObject()
	b := reconciled(t, c, o)
	var others []string
	for _, shoot := range []string{technicalID, "shoot--p--other"} {
		tags := map[string]string{"transplant.dev/shoot": shoot}
		balancer, err := c.Client(t).LoadBalancers().Create(t.Context(), &cloud.LoadBalancer{Name: "a0", Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		volume, err := c.Client(t).Volumes().Create(t.Context(), &cloud.Volume{Size: "1Gi", Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		others = []string{"load-balancers/" + balancer.ID, "volumes/" + volume.ID}
	}
	b.delete(o)
	b.settle(o)
	if diff := cmp.Diff(others, c.IDs(cloud.KindLoadBalancers, cloud.KindVolumes)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// TestForeignPending: a creation that another seed had begun when the state was saved is not repeated by this one.
func TestForeignPending(t *testing.T) {
	t.Parallel()
	for _, subnets := range []bool{false, true} {
		c := cloudtest.NewLandscape(t)
		b := newBench(t, "b", c, 2)
		tags := map[string]string{"transplant.dev/shoot": technicalID}
		network, err := c.Client(t).Networks().Create(t.Context(), &cloud.Network{CIDR: "10.250.0.0/16", Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		for zone, cidr := range map[string]string{"r-a": "10.250.0.0/20", "r-b": "10.250.16.0/20"} {
			if !subnets {
				break // something else has to be created first
			}
			if _, err := c.Client(t).Subnets().Create(t.Context(), &cloud.Subnet{NetworkID: network.ID, CIDR: cidr, Zone: zone,
				Tags: tags}); err != nil {
				t.Fatal(err)
			}
		}
		o := infrastructureObject()
		b.create(o)
		b.changeStatus(o, func() {
			o.Status.State = reference.Encode(infrastructure.State{
				Whole: true, CIDR: "10.250.0.0/16", NetworkID: network.ID, By: "uid-on-a",
				Pending: map[string]string{"router": "token-of-a"},
			})
		})
		b.annotate(o, "restore")
		if _, err := b.once(o); !errors.Is(err, infrastructure.ErrStateLost) {
			t.Fatalf("got %v", err)
		}
		if routers := c.IDs(cloud.KindRouters); len(routers) > 0 {
			t.Errorf("a router was made: %v", routers)
		}
	}
}

// TestD8Transient: throttled calls, lost answers and a cloud that is away are tried again, and nothing is made twice.
func TestD8Transient(t *testing.T) {
	t.Parallel()
	calm := cloudtest.NewLandscape(t)
	reconciled(t, calm, infrastructureObject())
	c := cloudtest.NewLandscape(t)
	b, o := newBench(t, "a", c, 1), infrastructureObject()
	b.create(o)
	b.annotate(o, "reconcile")
	calls, creations := 0, 0
	c.LoseAnswers(func(verb, _ string) bool {
		if verb == "create" {
			creations++
		}
		return verb == "create" && creations%2 == 1
	})
	c.Refuse(func(string, string) *cloud.Error {
		if calls++; calls%13 == 0 {
			return &cloud.Error{Code: cloud.CodeRateLimited, Reason: "RequestLimitExceeded",
				Message: "Throttling: rate exceeded"}
		}
		return nil
	})
	b.settle(o)
	if diff := cmp.Diff(len(calm.IDs()), len(c.IDs())); diff != "" {
		t.Errorf("%v: %s", c.IDs(), diff)
	}
}

// TestC2StateIsStable: reconciling again does not rewrite the state.
func TestC2StateIsStable(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		b := reconciled(t, cloudtest.NewLandscape(t), o)
		if state := o.GetExtensionStatus().GetState(); state != nil {
			object := map[string]any{}
			if err := json.Unmarshal(state.Raw, &object); err != nil {
				t.Errorf("the state is no JSON object: %v", err)
			}
			if strings.Contains(string(state.Raw), technicalID) && strings.Contains(string(state.Raw), "namespace") {
				t.Errorf("C3: the state names a namespace: %s", state.Raw)
			}
			if len(state.Raw) > 256<<10 {
				t.Errorf("C6: the state has %d bytes", len(state.Raw))
			}
		}
		writes, _ := touched(b, func() { b.ask(o, "reconcile") })
		for _, w := range writes {
			if strings.Contains(w, `"state":{`) || strings.Contains(w, `"resources":`) {
				t.Errorf("the state was written again: %s", w)
			}
		}
	})
}

// TestC4ResourcesExist: what the status refers to exists, and is used and not regenerated after a restoration
// (docs/contract.md#clause-d7).
func TestC4ResourcesExist(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	o := extensionObject()
	a := reconciled(t, c, o)
	a.ask(o, "migrate")
	a.get(o)
	if len(o.Status.Resources) != 1 {
		t.Fatalf("the resources are %v", o.Status.Resources)
	}
	secret := &corev1.Secret{}
	if err := a.base.Get(t.Context(), client.ObjectKey{Namespace: technicalID,
		Name: o.Status.Resources[0].ResourceRef.Name}, secret); err != nil {
		t.Fatalf("C4: %v", err)
	}
	b, there := moved(t, a, o, func() extensionsv1alpha1.Object { return extensionObject() })
	b.ask(there, "restore")
	restored := &corev1.Secret{}
	if err := b.base.Get(t.Context(), client.ObjectKeyFromObject(secret), restored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(secret.Data, restored.Data); diff != "" {
		t.Errorf("D7: %s", diff)
	}
	if err := b.base.Delete(t.Context(), restored); err != nil {
		t.Fatal(err)
	}
	b.annotate(there, "reconcile")
	if _, err := b.once(there); !errors.Is(err, managed.ErrSecretLost) {
		t.Errorf("with the secret lost: %v", err)
	}
}

// TestD12Record: the record is changed in place, never removed at a migration, and keeps the TTL it is given.
func TestD12Record(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	o := dnsRecordObject()
	a := reconciled(t, c, o)
	if len(o.Status.Conditions) != 1 || o.Status.Conditions[0].Type != "Created" ||
		o.Status.Conditions[0].Status != "True" || o.Status.Zone == nil {
		t.Errorf("status: %+v", o.Status)
	}
	a.ask(o, "migrate")
	b, there := moved(t, a, o, func() extensionsv1alpha1.Object {
		r := dnsRecordObject()
		r.Spec.Values = []string{"127.0.0.2"}
		return r
	})
	_, calls := touched(b, func() { b.ask(there, "restore") })
	if len(calls) != 1 || calls[0].Verb != "update" || calls[0].Epoch != 2 || calls[0].Shoot != technicalID {
		t.Errorf("the calls were %v", calls)
	}
	record, err := c.Client(t).Records(*o.Status.Zone).Get(t.Context(), "A", o.Spec.Name)
	if err != nil {
		t.Fatal(err)
	}
	if record.TTL != 7 || !slices.Equal(record.Values, []string{"127.0.0.2"}) {
		t.Errorf("the record is %+v", record)
	}
}

// A name in a zone that is not there has no record: that is an error of who wants one, and none for who deletes it.
func TestANameWithoutAZone(t *testing.T) {
	t.Parallel()
	b := newBench(t, "a", cloudtest.NewLandscape(t), 1)
	o := dnsRecordObject()
	o.Spec.Zone = ptr.To("elsewhere.test")
	b.create(o)
	b.annotate(o, "reconcile")
	if _, err := b.once(o); err == nil || !strings.Contains(err.Error(),
		`find a zone for "api.alpha.p.shoots.test" (elsewhere.test): none matches`) {
		t.Errorf("got %v", err)
	}
	b.get(o)
	if last := o.Status.LastError; last == nil || !slices.Equal(last.Codes,
		[]gardencorev1beta1.ErrorCode{"ERR_CONFIGURATION_PROBLEM"}) {
		t.Errorf("its last operation is %+v", last)
	}
	b.delete(o)
	b.settle(o)
	if b.exists(o) {
		t.Errorf("it is still there, with finalizers %q", o.Finalizers)
	}
}

// TestD14BackupEntry: the Secret says bucket and prefix; deleting the source entry removes the source's part alone.
func TestD14BackupEntry(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	if _, err := c.Client(t).Buckets().Create(t.Context(), &cloud.Bucket{Name: "bucket-b"}); err != nil {
		t.Fatal(err)
	}
	entry := backupEntryObject()
	entry.Spec.BucketName = "bucket-b"
	b := reconciled(t, c, entry)
	source := backupEntryObject()
	source.Name = "source-" + entryName
	b.create(source)
	b.ask(source, "reconcile")
	for name, bucket := range map[string]string{"etcd-backup": "bucket-b", "source-etcd-backup": "bucket-a"} {
		secret := &corev1.Secret{}
		if err := b.base.Get(t.Context(), client.ObjectKey{Namespace: technicalID, Name: name}, secret); err != nil {
			t.Fatal(err)
		}
		want := map[string][]byte{"kubeconfig": []byte("k"), "bucketName": []byte(bucket), "prefix": []byte(entryName)}
		if diff := cmp.Diff(want, secret.Data); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c.PutObject("bucket-a", entryName+"/etcd-main/1")
	c.PutObject("bucket-a", technicalID+"--other/etcd-main/1")
	c.PutObject("bucket-b", entryName+"/etcd-main/1")
	b.delete(source)
	b.settle(source)
	want := []string{"objects/bucket-a/" + technicalID + "--other/etcd-main/1", "objects/bucket-b/" + entryName +
		"/etcd-main/1"}
	if diff := cmp.Diff(want, c.IDs(cloud.KindObjects)); diff != "" {
		t.Error(diff)
	}
	names := []string{}
	for _, secret := range secretsOf(t, b, client.InNamespace(technicalID)) {
		names = append(names, secret.Name)
	}
	if slices.Contains(names, "source-etcd-backup") || !slices.Contains(names, "etcd-backup") {
		t.Errorf("secrets left: %v", names)
	}
}

// What the source entry names may be where the shoot has its backups, when it has come back before they were copied:
// then only the entry itself stands for them.
func TestASourceThatIsNoOtherPlaceKeepsItsObjects(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	entry := backupEntryObject()
	b := reconciled(t, c, entry)
	source := backupEntryObject()
	source.Name = "source-" + entryName
	b.create(source)
	b.ask(source, "reconcile")
	object := "objects/bucket-a/" + entryName + "/etcd-main/1"
	c.PutObject("bucket-a", entryName+"/etcd-main/1")
	b.delete(source)
	b.settle(source)
	if diff := cmp.Diff([]string{object}, c.IDs(cloud.KindObjects)); diff != "" || b.exists(source) {
		t.Errorf("the source is there: %t; objects: %s", b.exists(source), diff)
	}
	for _, secret := range secretsOf(t, b, client.InNamespace(technicalID)) {
		if secret.Name == "source-etcd-backup" {
			t.Error("its secret is left")
		}
	}
	b.delete(entry)
	b.settle(entry)
	if left := c.IDs(cloud.KindObjects); len(left) > 0 || b.exists(entry) {
		t.Errorf("the entry is there: %t; objects: %v", b.exists(entry), left)
	}
}

// TestEntryOutlivesNamespace: the backups of a shoot are deleted in the epoch the entry remembers, and not if the shoot
// has another owner since.
func TestEntryOutlivesNamespace(t *testing.T) {
	t.Parallel()
	for _, newer := range []bool{false, true} {
		c := cloudtest.NewLandscape(t)
		entry := backupEntryObject()
		b := reconciled(t, c, entry)
		b.provider.Fence = &fence.GuardFence{Seed: b.seed}
		c.PutObject("bucket-a", entryName+"/etcd-main/1")
		if err := b.base.Delete(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID}}); err != nil {
			t.Fatal(err)
		}
		if newer {
			c.Fence(technicalID, 2)
		}
		b.delete(entry)
		_, err := b.once(entry)
		left := c.IDs(cloud.KindObjects)
		if newer != cloud.IsStaleEpoch(err) || newer != (len(left) == 1) {
			t.Errorf("another owner: %t: error %v, left %v", newer, err, left)
		}
	}
}

// A namespace that has lost its epoch is being cleaned up, because the shoot is somebody else's. The bucket that the
// shoot came from may be where it has gone back to.
func TestADisownedNamespaceIsNoneThatIsGone(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	source := backupEntryObject()
	source.Name = "source-" + entryName
	b := reconciled(t, c, source)
	b.provider.Fence = &fence.GuardFence{Seed: b.seed}
	c.PutObject("bucket-a", entryName+"/etcd-main/1")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: technicalID}}
	if err := b.base.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	delete(namespace.Annotations, "transplant.dev/epoch")
	if err := b.base.Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	b.delete(source)
	result, err := b.once(source)
	if left := c.IDs(cloud.KindObjects); err != nil || result.RequeueAfter == 0 || len(left) != 1 || !b.exists(source) {
		t.Errorf("got %v, %v, the objects %v, and the entry is there: %t", result, err, left, b.exists(source))
	}
}

// TestB3ManagedResourcesAreLeft: the objects stay in the shoot, and that is written before the deletion.
func TestB3ManagedResourcesAreLeft(t *testing.T) {
	t.Parallel()
	for _, fresh := range []func() extensionsv1alpha1.Object{
		func() extensionsv1alpha1.Object { return networkObject() },
		func() extensionsv1alpha1.Object { return controlPlaneObject() },
		func() extensionsv1alpha1.Object { return containerRuntimeObject() },
		func() extensionsv1alpha1.Object { return extensionObject() },
	} {
		o := fresh()
		b := reconciled(t, cloudtest.NewLandscape(t), o)
		all := &resourcesv1alpha1.ManagedResourceList{}
		if err := b.base.List(t.Context(), all); err != nil || len(all.Items) != 1 {
			t.Fatalf("%T: ManagedResources %v, error %v", o, all.Items, err)
		}
		managed := &all.Items[0]
		managed.Finalizers = []string{"resources.gardener.cloud/gardener-resource-manager"}
		if err := b.base.Update(t.Context(), managed); err != nil {
			t.Fatal(err)
		}
		persisted := secretsOf(t, b, client.MatchingLabels{"persist": "true"})
		b.annotate(o, "migrate")
		result, err := b.once(o)
		if err != nil || result.RequeueAfter == 0 {
			t.Errorf("%T: it did not wait for the resource manager: %v, %v", o, result, err)
		}
		if err := b.base.Get(t.Context(), client.ObjectKeyFromObject(managed), managed); err != nil {
			t.Fatal(err)
		}
		if !ptr.Deref(managed.Spec.KeepObjects, false) || managed.DeletionTimestamp == nil {
			t.Errorf("%T: the ManagedResource is %+v", o, managed)
		}
		managed.Finalizers = nil
		if err := b.base.Update(t.Context(), managed); err != nil {
			t.Fatal(err)
		}
		b.settle(o)
		if diff := cmp.Diff(persisted, secretsOf(t, b, client.MatchingLabels{"persist": "true"})); diff != "" {
			t.Errorf("%T: B5: %s", o, diff)
		}
		for _, secret := range secretsOf(t, b, client.InNamespace(technicalID)) {
			if secret.Labels["persist"] == "" && secret.Name != "cloudprovider" && secret.Name != "user-data" {
				t.Errorf("%T: B4: secret %q is left", o, secret.Name)
			}
		}
	}
}

// TestUserData: the result of a provision config has the gardenlet's document with the files and units in it.
func TestUserData(t *testing.T) {
	t.Parallel()
	o := oscObject()
	b := reconciled(t, cloudtest.NewLandscape(t), o)
	secret := &corev1.Secret{}
	ref := o.Status.CloudConfig.SecretRef
	if err := b.base.Get(t.Context(), client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		t.Fatal(err)
	}
	node, err := cloud.ParseNodeUserData(string(secret.Data["cloud_config"]))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range node.Files {
		paths = append(paths, file.Path)
	}
	if diff := cmp.Diff([]string{"/etc/motd", "/etc/transplant/os-release"}, paths); diff != "" || node.Token != "t" ||
		len(node.Units) != 1 {
		t.Errorf("the document is %+v %s", node, diff)
	}
}

// TestD5Worker: machines come back as they were, before the machine controller wakes, and nothing rolls.
func TestD5Worker(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	o := workerObject()
	a := reconciled(t, c, o)
	deployments := machineDeployments(t, a)
	saved := map[string]any{}
	for _, d := range deployments {
		object := func(kind, name string, labels map[string]any, spec map[string]any) map[string]any {
			return map[string]any{
				"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": kind, "spec": spec, "status": map[string]any{"x": "y"},
				"metadata": map[string]any{"name": name, "namespace": "elsewhere", "labels": labels, "uid": "old",
					"resourceVersion": "5"},
			}
		}
		class := map[string]any{"kind": "MachineClass", "name": d.Spec.Template.Spec.Class.Name}
		saved[d.Name] = map[string]any{
			"replicas": 2,
			"machineSets": []any{object("MachineSet", d.Name+"-h", map[string]any{"name": d.Name}, map[string]any{
				"replicas": int64(2), "template": map[string]any{"spec": map[string]any{"class": class}}, "notModelled": "kept",
			})},
			"machines": []any{object("Machine", d.Name+"-h-m", map[string]any{"name": d.Name, "node": d.Name + "-node"},
				map[string]any{
					"class": class, "providerID": "transplant:///mac-1",
				})},
		}
	}
	// The first pool is being updated: its set is of a class that the pool has no more.
	first := saved[deployments[0].Name].(map[string]any)
	old := map[string]any{"kind": "MachineClass", "name": "old-class"}
	first["machineSets"].([]any)[0].(map[string]any)["spec"].(map[string]any)["template"] =
		map[string]any{"spec": map[string]any{"class": old}}
	metadata := map[string]any{
		"name": "old-class", "namespace": "elsewhere", "labels": map[string]any{"gardener.cloud/purpose": "machineclass"},
	}
	first["machineClasses"] = []any{
		map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
			"data": map[string]any{"userData": "Ym9vdA=="}},
		map[string]any{
			"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass", "metadata": metadata,
			"providerSpec": map[string]any{"image": "old"},
		},
	}
	raw, err := json.Marshal(map[string]any{"machineDeployments": saved})
	if err != nil {
		t.Fatal(err)
	}
	b, there := moved(t, a, o, func() extensionsv1alpha1.Object { return workerObject() })
	b.changeStatus(there, func() { there.GetExtensionStatus().SetState(&runtime.RawExtension{Raw: raw}) })
	writes, _ := touched(b, func() { b.ask(there, "restore") })
	if diff := cmp.Diff(classes(deployments), classes(machineDeployments(t, b))); diff != "" {
		t.Errorf("names of deployments or classes differ: %s", diff)
	}
	for _, d := range machineDeployments(t, b) {
		if d.Spec.Replicas != 2 {
			t.Errorf("%s has %d replicas", d.Name, d.Spec.Replicas)
		}
	}
	machine := &machinev1alpha1.Machine{}
	if err := b.base.Get(t.Context(), client.ObjectKey{Namespace: technicalID, Name: deployments[0].Name + "-h-m"},
		machine); err != nil {
		t.Fatal(err)
	}
	if machine.Spec.ProviderID != "transplant:///mac-1" || machine.Labels["node"] != deployments[0].Name+"-node" {
		t.Errorf("the machine is %+v", machine)
	}
	class, secret := &machinev1alpha1.MachineClass{}, &corev1.Secret{}
	key := client.ObjectKey{Namespace: technicalID, Name: "old-class"}
	if err := errors.Join(b.base.Get(t.Context(), key, class), b.base.Get(t.Context(), key, secret)); err != nil {
		t.Errorf("the class of an older set is not restored: %v", err)
	}
	if string(class.ProviderSpec.Raw) != `{"image":"old"}` || string(secret.Data["userData"]) != "boot" {
		t.Errorf("the class of an older set is %s with the user data %q", class.ProviderSpec.Raw, secret.Data["userData"])
	}
	order(t, writes, "create *unstructured.Unstructured/"+machine.Name, "create *v1alpha1.MachineDeployment",
		"*v1.Deployment/machine-controller")
	if len(c.IDs(cloud.KindMachines)) > 0 {
		t.Error("machines were created")
	}
	// A restoration that waits is looked at again and again, and the machine controller is awake meanwhile.
	if err := b.base.Delete(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	b.ask(there, "restore")
	if err := b.base.Get(t.Context(), client.ObjectKeyFromObject(machine), machine); !apierrors.IsNotFound(err) {
		t.Errorf("a machine that was ended since is made anew: %v", err)
	}
}

// order holds writes to come in this order.
func order(t *testing.T, writes []string, parts ...string) {
	t.Helper()
	at := -1
	for _, part := range parts {
		next := slices.IndexFunc(writes, func(w string) bool { return strings.Contains(w, part) })
		if next <= at {
			t.Errorf("%q comes at %d, not after %d, in %v", part, next, at, writes)
		}
		at = next
	}
}

func machineDeployments(t *testing.T, b *bench) []machinev1alpha1.MachineDeployment {
	t.Helper()
	all := &machinev1alpha1.MachineDeploymentList{}
	if err := b.base.List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

func classes(deployments []machinev1alpha1.MachineDeployment) map[string]string {
	found := map[string]string{}
	for _, d := range deployments {
		found[d.Name] = d.Spec.Template.Spec.Class.Name
	}
	return found
}

// TestD11Hibernated: nothing is woken in the restoration of a shoot that sleeps.
func TestD11Hibernated(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	o := workerObject()
	a := reconciled(t, c, o)
	b, there := moved(t, a, o, func() extensionsv1alpha1.Object { return workerObject() })
	b.setShoot(func(s *gardencorev1beta1.Shoot) {
		s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}
	})
	b.ask(there, "restore")
	b.get(there)
	controller := &appsv1.Deployment{}
	if err := b.base.Get(t.Context(), client.ObjectKey{Namespace: technicalID, Name: "machine-controller"},
		controller); err != nil {
		t.Fatal(err)
	}
	if last(there) != "Restore/Succeeded/100" || *controller.Spec.Replicas != 0 || machineDeployments(t,
		b)[0].Spec.Replicas != 0 {
		t.Errorf("%s, controller %d, deployments %+v", last(there), *controller.Spec.Replicas,
			machineDeployments(t, b)[0].Spec.Replicas)
	}
}

// TestStaleEpochWaits: a call that the cloud refuses as an older owner's is no failure of the object.
func TestStaleEpochWaits(t *testing.T) {
	t.Parallel()
	c := cloudtest.NewLandscape(t)
	c.Fence(technicalID, 9)
	b, o := newBench(t, "a", c, 1), infrastructureObject()
	b.create(o)
	b.annotate(o, "reconcile")
	result, err := b.once(o)
	b.get(o)
	if err != nil || result.RequeueAfter == 0 || last(o) != "Create/Processing/1" || len(c.IDs(cloud.KindNetworks)) > 0 {
		t.Errorf("got %v, %v, %s, networks %v", result, err, last(o), c.IDs(cloud.KindNetworks))
	}
}
