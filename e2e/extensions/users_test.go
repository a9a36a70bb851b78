package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// newProgramOn returns a program on a seed that has the objects.
func newProgramOn(t *testing.T, objects ...client.Object) *program {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, extensionsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	seed := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&extensionsv1alpha1.Extension{}, &extensionsv1alpha1.Network{}).Build()
	return &program{Client: seed, cached: seed, class: "dns"}
}

// newExtension returns one whose last operation has succeeded.
func newExtension(namespace string, last gardencorev1beta1.LastOperationType) *extensionsv1alpha1.Extension {
	obj := &extensionsv1alpha1.Extension{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: dnsType}}
	obj.Spec.Type = dnsType
	obj.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: last, State: "Succeeded"}
	return obj
}

// newAccess returns the Secrets by which an extension reaches the shoot at an address.
func newAccess(namespace, address, token string) []client.Object {
	kubeconfig := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "a",
		"contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
		"clusters": [{"name": "a", "cluster": {"server": %q}}], "users": [{"name": "a", "user": {}}]}`, address)
	secret := func(name, key, value string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Data: map[string][]byte{key: []byte(value)}}
	}
	return []client.Object{secret("gardener-internal", "kubeconfig", kubeconfig),
		secret("shoot-access-extension-example-dns", "token", token)}
}

// newShoot serves one DNSEntry to whoever has the token, and counts the writes of its status.
func newShoot(t *testing.T, token string) (address string, answered *atomic.Int32) {
	t.Helper()
	answered = &atomic.Int32{}
	const entry = `{"apiVersion": "dns.example.org/v1", "kind": "DNSEntry",
		"metadata": {"namespace": "default", "name": "web"}, "spec": {"target": "192.0.2.1"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, code := "", http.StatusOK
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			answer, code = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized"}`,
				http.StatusUnauthorized
		case r.URL.Path == "/api":
			answer = `{"kind": "APIVersions", "versions": []}`
		case r.URL.Path == "/apis":
			answer = `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "dns.example.org",
				"versions": [{"groupVersion": "dns.example.org/v1", "version": "v1"}]}]}`
		case r.URL.Path == "/apis/dns.example.org/v1":
			answer = `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "dns.example.org/v1", "resources":
				[{"name": "dnsentries", "kind": "DNSEntry", "namespaced": true, "verbs": ["list", "patch"]}]}`
		case r.URL.Path == "/apis/dns.example.org/v1/dnsentries":
			answer = `{"apiVersion": "dns.example.org/v1", "kind": "DNSEntryList", "metadata": {}, "items": [` + entry + `]}`
		case r.URL.Path == "/apis/dns.example.org/v1/namespaces/default/dnsentries/web/status":
			answered.Add(1)
			answer = entry
		default:
			answer, code = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound"}`,
				http.StatusNotFound
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return server.URL, answered
}

// newDNS returns what serves the users of DNS.
func newDNS(p *program) dns {
	d := dns{p, userObjects{program: p, ofType: dnsType, group: "dns.example.org", kind: "DNSEntry",
		resource: "dnsentries", outcomes: &sync.Map{}}}
	d.entries.serve = d.own
	return d
}

// One shoot that cannot be served keeps no other from it, and each has a health of its own.
func TestServeAll_ShootsThatFail_ServesOthersAndReportsProblems(t *testing.T) {
	t.Parallel()
	address, answered := newShoot(t, "valid")
	objects := []client.Object{newExtension("a-no-token", "Reconcile"), newExtension("b-other-token", "Restore"),
		newExtension("c-served", "Restore"), newExtension("d-released", "Migrate")}
	objects = append(objects, newAccess("b-other-token", address, "of another seed")...)
	objects = append(objects, newAccess("c-served", address, "valid")...)
	objects = append(objects, newAccess("d-released", address, "valid")...)
	d := newDNS(newProgramOn(t, objects...))

	before, err := d.entries.problem(t.Context(), "c-served")
	if err != nil || before != "The DNSEntrys of users were not looked for yet." {
		t.Errorf("before anything was served, the problem is %q, %v", before, err)
	}
	err = d.entries.serveAll(t.Context())
	if err == nil || !strings.Contains(err.Error(), "a-no-token") || !strings.Contains(err.Error(), "b-other-token") {
		t.Errorf("serveAll returns %v, want what failed in two shoots", err)
	}
	for namespace, want := range map[string]string{"a-no-token": "read the token", "b-other-token": "list the DNSEntrys",
		"c-served": "", "d-released": "not looked for yet"} {
		problem, err := d.entries.problem(t.Context(), namespace)
		if err != nil || !strings.Contains(problem, want) || want == "" && problem != "" {
			t.Errorf("%s has the problem %q, %v, want %q", namespace, problem, err, want)
		}
	}
	if answered.Load() != 1 {
		t.Errorf("%d objects were answered, want 1", answered.Load())
	}
	served := newExtension("c-served", "")
	if err := d.Get(t.Context(), client.ObjectKeyFromObject(served), served); err != nil || served.Status.State == nil {
		t.Fatalf("the Extension has no state: %v", err)
	}
	state := entriesState{}
	if err := json.Unmarshal(served.Status.State.Raw, &state); err != nil || state.Entries["default/web"] != "192.0.2.1" {
		t.Errorf("the state is %+v, %v", state, err)
	}
}

// A shoot that was released while its users were served gets no state any more.
func TestOwn_ObjectChangedMeanwhile_IsConflict(t *testing.T) {
	t.Parallel()
	d := newDNS(newProgramOn(t, newExtension("a", "Reconcile")))
	known, released := newExtension("a", ""), newExtension("a", "")
	for _, obj := range []*extensionsv1alpha1.Extension{known, released} {
		if err := d.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
	}
	released.Status.LastOperation.Type = "Migrate"
	if err := d.Status().Update(t.Context(), released); err != nil {
		t.Fatal(err)
	}
	err := d.own(context.Background(), nil, known, &unstructured.Unstructured{Object: map[string]any{}})
	if !apierrors.IsConflict(err) {
		t.Errorf("own returns %v, want a conflict", err)
	}
}
