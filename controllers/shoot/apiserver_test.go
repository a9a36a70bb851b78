package shoot

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const (
	technicalID = "shoot--p--alpha"
	// future is a field that our types do not model.
	future = "fieldOfTheFuture"
)

// TestOnARealAPIServer takes a shoot through creation, with a task that fails once, through a reconciliation and
// deletion, on an API server that is garden, seed and shoot at once, with the controller as a gardenlet runs it.
func TestOnARealAPIServer(t *testing.T) {
	log.SetLogger(logr.Discard())
	l := startLive(t)
	versions := l.watch()
	l.gardenlet()
	t.Run("created, after an error", l.created)
	t.Run("refused by its schema", l.refused)
	t.Run("reconciled", l.reconciled)
	t.Run("has its domain", l.hasDomain)
	t.Run("deleted", l.deleted)
	t.Run("as its users saw it", func(t *testing.T) { judge(t, versions()) })
	t.Run("events", l.events)
}

func (l *live) created(t *testing.T) {
	content := `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"namespace":"garden-p",
		"name":"alpha"},"spec":{"seedName":"a","region":"here","cloudProfile":{"kind":"CloudProfile","name":"profile"},
		"kubernetes":{"version":"1.36.3"},
		"provider":{"type":"transplant"},"extensions":[{"type":"certs"}],"fieldOfTheFuture":{"on":true}}}`
	shoot := &unstructured.Unstructured{}
	must(t, json.Unmarshal([]byte(content), &shoot.Object))
	must(t, l.Create(t.Context(), shoot))
	l.until(t, "Create", "Succeeded")
	s := l.shoot(t)
	if ptr.Deref(s.Status.SeedName, "") != "a" || s.Status.TechnicalID != technicalID || s.Status.UID != s.UID ||
		s.Status.Gardener.Version != "v1" || len(s.Status.LastErrors) > 0 {
		t.Errorf("status %+v", s.Status)
	}
	namespace, lease, cluster := &corev1.Namespace{}, &coordinationv1.Lease{}, &extensionsv1alpha1.Cluster{}
	must(t, l.Get(t.Context(), client.ObjectKey{Name: technicalID}, namespace))
	must(t, l.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "owner.alpha"}, lease))
	must(t, l.Get(t.Context(), client.ObjectKey{Name: technicalID}, cluster))
	seed := &gardencorev1beta1.Seed{}
	must(t, l.Get(t.Context(), client.ObjectKey{Name: "a"}, seed))
	owner, decision := ptr.Deref(lease.Spec.HolderIdentity, ""), l.decision.Record()
	if owner != string(seed.UID) || decision.Owner != owner || decision.Epoch != 1 ||
		namespace.Annotations["transplant.dev/epoch"] != "1" {
		t.Errorf("the owner is %q by the garden and %+v by DNS, the namespace has %v", owner, decision, namespace.Annotations)
	}
	if namespace.Annotations["transplant.dev/owner"] != owner ||
		!strings.HasPrefix(namespace.Annotations["transplant.dev/owner-record"], "owner.alpha.p.") {
		t.Errorf("the namespace does not say where the epoch is decided: %v", namespace.Annotations)
	}
	if !strings.Contains(string(cluster.Spec.Shoot.Raw), `"fieldOfTheFuture":{"on":true}`) {
		t.Errorf("extensions do not get what our types do not model: %s", cluster.Spec.Shoot.Raw)
	}
}

// refused: what one object suffices to judge is judged by the API server.
func (l *live) refused(t *testing.T) {
	if err := l.patch(t, `{"spec":{"seedName":null}}`); !apierrors.IsInvalid(err) {
		t.Errorf("taking the seed away: %v", err)
	}
}

// reconciled: who changes the specification gets a run; what others have put beside it is still there afterwards.
func (l *live) reconciled(t *testing.T) {
	extension := &extensionsv1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{Namespace: technicalID, Name: "certs"}}
	must(t, l.Patch(t.Context(), extension,
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"fieldOfTheFuture":"kept"}}`))))
	status := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
	must(t, l.Status().Patch(t.Context(), status,
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"fieldOfTheFuture":"kept"}}`))))
	must(t, l.patch(t, `{"spec":{"purpose":"testing","dns":{"domain":"alpha.p.clusters.test"}}}`))
	l.until(t, "Reconcile", "Succeeded")
	if s := l.shoot(t); s.Status.ObservedGeneration != s.Generation {
		t.Errorf("generation %d was observed, and there is %d", s.Status.ObservedGeneration, s.Generation)
	}
	raw := func(object client.Object, kind string, path ...string) string {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(map[string]string{"Shoot": "core.gardener.cloud/v1beta1"}[kind])
		if kind == "Extension" {
			u.SetAPIVersion("extensions.gardener.cloud/v1alpha1")
		}
		u.SetKind(kind)
		must(t, l.Get(t.Context(), client.ObjectKeyFromObject(object), u))
		value, _, _ := unstructured.NestedString(u.Object, path...)
		return value
	}
	if got := raw(extension, "Extension", "spec", future) + raw(status, "Shoot", "status", future); got != "keptkept" {
		t.Errorf("of two fields that our types do not model %q is left", got)
	}
}

// hasDomain: a shoot that is given a domain after it was made is known by it, to DNS, the gateway, clients and its
// users.
func (l *live) hasDomain(t *testing.T) {
	const name = "api.alpha.p.clusters.test"
	records := map[string]*extensionsv1alpha1.DNSRecord{}
	list := &extensionsv1alpha1.DNSRecordList{}
	must(t, l.List(t.Context(), list, client.InNamespace(technicalID)))
	for i := range list.Items {
		records[list.Items[i].Name] = &list.Items[i]
	}
	internal, external := records["alpha-internal"], records["alpha-external"]
	if internal == nil || external == nil || external.Spec.Name != name || len(external.Spec.Values) == 0 ||
		!slices.Equal(external.Spec.Values, internal.Spec.Values) {
		t.Fatalf("records %+v", list.Items)
	}
	credentials, certificate := &corev1.Secret{}, &corev1.Secret{}
	must(t, l.Get(t.Context(), client.ObjectKey{Namespace: external.Spec.SecretRef.Namespace,
		Name: external.Spec.SecretRef.Name}, credentials))
	must(t, l.Get(t.Context(), client.ObjectKey{Namespace: technicalID, Name: "kube-apiserver"}, certificate))
	certificates, err := certutil.ParseCertsPEM(certificate.Data["tls.crt"])
	must(t, err)
	must(t, certificates[0].VerifyHostname(name))
	service, api := &corev1.Service{}, &appsv1.Deployment{}
	must(t, l.Get(t.Context(), client.ObjectKey{Namespace: technicalID, Name: "kube-apiserver"}, service))
	must(t, l.Get(t.Context(), client.ObjectKey{Namespace: technicalID, Name: "kube-apiserver"}, api))
	if hosts := service.Annotations["networking.transplant.dev/sni-hosts"]; hosts != internal.Spec.Name+","+name {
		t.Errorf("the gateway routes %q", hosts)
	}
	if got := api.Spec.Template.Annotations["transplant.dev/external-name"]; got != name {
		t.Errorf("the API server has not been started anew with its new certificate: %q", got)
	}
	want := []gardencorev1beta1.ShootAdvertisedAddress{{Name: "external", URL: "https://" + name + ":9443"},
		{Name: "internal", URL: "https://" + internal.Spec.Name + ":9443"}}
	if diff := cmp.Diff(want, l.shoot(t).Status.AdvertisedAddresses); diff != "" {
		t.Errorf("advertised addresses (-want +got):\n%s", diff)
	}
}

// deleted: nothing of the shoot is left, in the garden or on the seed, and nobody owns it.
func (l *live) deleted(t *testing.T) {
	must(t, l.Delete(t.Context(), l.shoot(t)))
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := l.Get(ctx, client.ObjectKey{Namespace: "garden-p", Name: "alpha"}, &gardencorev1beta1.Shoot{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	if err != nil {
		t.Fatalf("wait for the end of the shoot: %v; %+v", err, l.shoot(t).Status)
	}
	for _, list := range []client.ObjectList{
		&extensionsv1alpha1.ExtensionList{}, &extensionsv1alpha1.DNSRecordList{}, &extensionsv1alpha1.ClusterList{},
		&gardencorev1beta1.BackupEntryList{},
	} {
		must(t, l.List(t.Context(), list))
		content, err := json.Marshal(list)
		must(t, err)
		if !strings.Contains(string(content), `"items":[]`) {
			t.Errorf("%T: %s", list, content)
		}
	}
	for object, key := range map[client.Object]client.ObjectKey{
		&corev1.Namespace{}: {Name: technicalID}, &coordinationv1.Lease{}: {Namespace: "garden-p", Name: "owner.alpha"},
	} {
		if err := l.Get(t.Context(), key, object); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s: %v", object, key, err)
		}
	}
	if record := l.decision.Record(); !record.Retired() || record.Epoch != 2 {
		t.Errorf("DNS says %+v", record)
	}
}

// judge what a watch has shown of the shoot.
func judge(t *testing.T, seen []*unstructured.Unstructured) {
	var states []string
	between, last := false, gardencorev1beta1.LastOperation{}
	for _, object := range seen {
		shoot := &gardencorev1beta1.Shoot{}
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, shoot))
		if on, _, _ := unstructured.NestedBool(object.Object, "spec", future, "on"); !on {
			t.Errorf("version %s has lost what our types do not model", shoot.ResourceVersion)
		}
		now := shoot.Status.LastOperation
		if now == nil {
			continue
		}
		state := string(now.Type) + " " + string(now.State)
		if len(states) == 0 || states[len(states)-1] != state {
			states = append(states, state)
		} else if now.Progress < last.Progress {
			t.Errorf("%s goes back from %d to %d %%", state, last.Progress, now.Progress)
		}
		last, between = *now, between || now.State == "Processing" && now.Progress > 0 && now.Progress < 100
		if now.State == "Succeeded" && now.Progress != 100 {
			t.Errorf("%s at %d %%", state, now.Progress)
		}
		if created := slices.Contains(states, "Create Succeeded"); (shoot.Status.SeedName != nil) != created {
			t.Errorf("%s: the control plane is on %q", state, ptr.Deref(shoot.Status.SeedName, ""))
		}
		if now.State == "Error" {
			judgeError(t, shoot)
		}
	}
	want := []string{"Create Processing", "Create Error", "Create Processing", "Create Succeeded", "Reconcile Processing",
		"Reconcile Succeeded", "Delete Processing"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("last operations (-want +got):\n%s", diff)
	}
	if !between {
		t.Error("no version of the shoot says how far the operation had come")
	}
}

// judgeError: each task that has failed is reported with its codes.
func judgeError(t *testing.T, shoot *gardencorev1beta1.Shoot) {
	if !slices.Contains(shoot.Finalizers, "gardener") {
		t.Error("a shoot with something in the cloud has no finalizer")
	}
	type failure struct {
		Task  string
		Codes []gardencorev1beta1.ErrorCode
	}
	var got []failure
	for _, e := range shoot.Status.LastErrors {
		got = append(got, failure{ptr.Deref(e.TaskID, ""), e.Codes})
		if !strings.Contains(e.Description, "the zone is full") {
			t.Errorf("the error is %q", e.Description)
		}
	}
	want := []failure{
		{"Deploying internal domain DNS record", []gardencorev1beta1.ErrorCode{"ERR_INFRA_RESOURCES_DEPLETED"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("last errors (-want +got):\n%s", diff)
	}
}

// events are those that the shoot's users find in its project.
func (l *live) events(t *testing.T) {
	want := []string{"Normal Deleted", "Normal Deleting", "Normal Reconciled", "Normal Reconciling",
		"Warning ReconcileError"}
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			list := &eventsv1.EventList{}
			if err := l.List(ctx, list, client.InNamespace("garden-p")); err != nil {
				return false, err
			}
			got = nil
			for _, e := range list.Items {
				if e.Regarding.Kind == "Shoot" && e.Regarding.Name == "alpha" {
					got = append(got, e.Type+" "+e.Reason)
				}
			}
			slices.Sort(got)
			got = slices.Compact(got)
			return slices.Equal(want, got), nil
		})
	if err != nil {
		t.Errorf("events %q, want %q: %v", got, want, err)
	}
}
