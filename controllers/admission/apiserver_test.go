package admission

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
)

func insecure() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
}

// merge patches as kubectl patch --type=merge does.
func (g *gardenOnServer) merge(ctx context.Context, patch string, options ...client.PatchOption) error {
	return g.Patch(ctx, key("alpha"), client.RawPatch(types.MergePatchType, []byte(patch)), options...)
}

func key(name string) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name}}
}

func (g *gardenOnServer) status(t *testing.T, patch string) {
	t.Helper()
	if err := g.Status().Patch(t.Context(), key("alpha"),
		client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func (g *gardenOnServer) wire(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("core.gardener.cloud/v1beta1")
	object.SetKind("Shoot")
	if err := g.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "alpha"}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// refused wants an error of the API server with a code, a cause for a field, and a text.
func refused(t *testing.T, err error, code int32, field, text string) {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		t.Fatalf("got %v, want a refusal of %s", err, field)
	}
	s := status.Status()
	if s.Code != code || !strings.Contains(s.Message, text) || !strings.Contains(s.Message, field) {
		t.Errorf("got %d %q, want %d with %q: %q", s.Code, s.Message, code, field, text)
	}
	if s.Details == nil || !slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == field
	}) {
		t.Errorf("no cause names the field %q: %+v", field, s.Details)
	}
}

// TestOnAnAPIServer is the life of one shoot at a stock API server: what users, the scheduler and gardenlets
// write, and what is refused. The webhook server is reached at an address in 127/8, as on embedded landscapes.
func TestOnAnAPIServer(t *testing.T) {
	t.Parallel()
	g := startGarden(t)
	stop := admissionOn(t, g, host)
	awaitInForce(t, g)

	for _, act := range []struct {
		name string
		do   func(t *testing.T, g *gardenOnServer)
	}{
		{"configuration", configurationOnServer},
		{"create", createOnServer},
		{"fields", fieldsOnServer},
		{"schedule", scheduleOnServer},
		{"versions", versionsOnServer},
		{"profile", profileOnServer},
		{"defaults", defaultsOnServer},
		{"domain", domainOnServer},
		{"move", moveOnServer},
		{"lock", lockOnServer},
		{"managed seed", managedSeedOnServer},
		{"delete", deleteOnServer},
	} {
		if !t.Run(act.name, func(t *testing.T) { act.do(t, g) }) {
			t.FailNow()
		}
	}
	stop()
	t.Run("while the server is away", func(t *testing.T) { serverAwayOnServer(t, g) })
	// The next one has another address and another authority, and lists of tolerations for all projects.
	lists, err := toleration.Read("testdata/admissionconfiguration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stop = admissionOn(t, g, nextHost, lists)
	defer stop()
	awaitInForce(t, g)
	t.Run("the next server", func(t *testing.T) { tolerationsOnServer(t, g) })
}

// tolerationsOnServer: the lists of the landscape hold beside those of the project.
func tolerationsOnServer(t *testing.T, g *gardenOnServer) {
	beta := alphaOnServer("beta")
	beta.Spec.Tolerations = []gardencorev1beta1.Toleration{{Key: "dedicated", Value: ptr.To("p")}}
	g.create(t, beta)
	want := []gardencorev1beta1.Toleration{{Key: "dedicated", Value: ptr.To("p")}, {Key: "shared"}, {Key: "given"}}
	if diff := cmp.Diff(want, beta.Spec.Tolerations); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	bad := alphaOnServer("gamma")
	bad.Spec.Tolerations = []gardencorev1beta1.Toleration{{Key: "closed"}}
	refused(t, g.Create(t.Context(), bad), http.StatusUnprocessableEntity, "spec.tolerations[0]",
		`Invalid value: "closed": is not in the whitelist of the project or the landscape, which allows: shared, `+
			`dedicated, given`)
}

func configurationOnServer(t *testing.T, g *gardenOnServer) {
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{},
		&admissionregistrationv1.MutatingWebhookConfiguration{}
	for _, object := range []client.Object{validating, mutating} {
		if err := g.Get(t.Context(), client.ObjectKey{Name: "transplant-admission"}, object); err != nil {
			t.Fatal(err)
		}
	}
	v, m := validating.Webhooks[0], mutating.Webhooks[0]
	if len(validating.Webhooks) != 5 || *v.FailurePolicy != "Fail" || *v.SideEffects != "None" || *v.TimeoutSeconds != 5 ||
		!strings.HasPrefix(ptr.Deref(v.ClientConfig.URL, ""), "https://"+host+":") {
		t.Errorf("validating: %+v", validating.Webhooks)
	}
	if len(mutating.Webhooks) != 4 || *m.FailurePolicy != "Fail" || *m.SideEffects != "None" || *m.TimeoutSeconds != 5 {
		t.Errorf("mutating: %+v", mutating.Webhooks)
	}
	for _, rules := range [][]admissionregistrationv1.RuleWithOperations{v.Rules, m.Rules} {
		if diff := cmp.Diff([]string{"shoots"}, rules[0].Resources); len(rules) != 1 || diff != "" {
			t.Errorf("resources (-want +got):\n%s", diff)
		}
	}
}

func createOnServer(t *testing.T, g *gardenOnServer) {
	bad := alphaOnServer("alpha")
	bad.Spec.SeedName = ptr.To("c")
	refused(t, g.Create(t.Context(), bad), http.StatusUnprocessableEntity, "spec.seedName",
		`Invalid value: "c": the seed has taints that spec.tolerations does not tolerate: "closed"; seeds that fit: a, b`)
	bad = alphaOnServer("alpha")
	bad.Spec.SeedName, bad.Spec.CloudProfile.Name = ptr.To("a"), "none"
	refused(t, g.Create(t.Context(), bad), http.StatusUnprocessableEntity, "spec.cloudProfile.name", `Not found: "none"`)
	bad = alphaOnServer("alpha")
	bad.Spec.Tolerations = []gardencorev1beta1.Toleration{{Key: "closed"}}
	refused(t, g.Create(t.Context(), bad), http.StatusUnprocessableEntity, "spec.tolerations[0]",
		`Invalid value: "closed": is not in the whitelist of the project or the landscape, which allows: given`)

	content, err := json.Marshal(alphaOnServer("alpha"))
	if err != nil {
		t.Fatal(err)
	}
	good := &unstructured.Unstructured{}
	if err := json.Unmarshal(content, &good.Object); err != nil {
		t.Fatal(err)
	}
	good.SetAPIVersion("core.gardener.cloud/v1beta1")
	good.SetKind("Shoot")
	admissiontest.In(good.Object, "spec")["fieldOfTheFuture"] = map[string]any{"on": true}
	g.create(t, good)
	wire := g.wire(t)
	if diff := cmp.Diff([]any{map[string]any{"key": "given"}},
		admissiontest.In(wire.Object, "spec")["tolerations"]); diff != "" {
		t.Errorf("tolerations by default (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"on": true},
		admissiontest.In(wire.Object, "spec", "fieldOfTheFuture")); diff != "" {
		t.Errorf("a field that no type has (-want +got):\n%s", diff)
	}
}

func scheduleOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	if err := g.merge(ctx, `{"spec":{"seedName":"a"}}`); err != nil {
		t.Fatal(err)
	}
	wantLabels(t, g.wire(t).GetLabels(), "a")
	refused(t, g.merge(ctx, `{"spec":{"seedName":"b"}}`), http.StatusForbidden, "spec.seedName",
		"before the shoot has been created successfully: there is no status.lastOperation")
	g.status(t, `{"status":{"seedName":"a","technicalID":"shoot--p--alpha","uid":"u","hibernated":false,
		"gardener":{"id":"a","name":"g","version":"v"},
		"lastOperation":{"type":"Create","state":"Succeeded","progress":100,"description":"",
			"lastUpdateTime":"2026-01-01T00:00:00Z"}}}`)
	// An ordinary user changes the shoot, and the field nobody models stays.
	if err := g.merge(ctx, `{"spec":{"purpose":"testing"}}`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"on": true},
		admissiontest.In(g.wire(t).Object, "spec", "fieldOfTheFuture")); diff != "" {
		t.Errorf("a field that no type has (-want +got):\n%s", diff)
	}
}

func versionsOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	refused(t, g.merge(ctx, `{"spec":{"kubernetes":{"version":"1.36.9"}}}`), http.StatusUnprocessableEntity,
		"spec.kubernetes.version",
		`Unsupported value: "1.36.9": supported values: "1.34.1", "1.34.2", "1.35.0", "1.36.3", "1.36.4"`)
	refused(t, g.merge(ctx, `{"spec":{"kubernetes":{"version":"1.35.0"}}}`), http.StatusForbidden,
		"spec.kubernetes.version", "downgrade is not supported, 1.35.0 is lower than 1.36.3")
	refused(t, g.merge(ctx, `{"spec":{"maintenance":{"timeWindow":{"begin":"220000+0000","end":"221000+0000"}}}}`),
		http.StatusUnprocessableEntity,
		"spec.maintenance.timeWindow", "must be between 30m0s and 6h0m0s long, and is 10m0s")
	// A pool of which only a part of the versions is named gets the rest; none of them is a preview or has expired.
	workers := `{"spec":{"provider":{"workers":[
		{"name":"pool","minimum":1,"maximum":1,"zones":["here-1"],
			"machine":{"type":"medium","image":{"name":"simulated","version":"1.2.0"}}},
		{"name":"more","minimum":1,"maximum":1,"machine":{"type":"medium","image":{"name":"simulated"}},
			"kubernetes":{"version":"1.35"},"fieldOfTheFuture":7}]}}}`
	if err := g.merge(ctx, workers); err != nil {
		t.Fatal(err)
	}
	pools, _, err := unstructured.NestedSlice(g.wire(t).Object, "spec", "provider", "workers")
	want := map[string]any{
		"name": "more", "minimum": int64(1), "maximum": int64(1), "fieldOfTheFuture": int64(7),
		"kubernetes": map[string]any{"version": "1.35.0"},
		"machine": map[string]any{"type": "medium", "image": map[string]any{"name": "simulated", "version": "1.2.0"},
			"architecture": "amd64"},
		"cri": map[string]any{"name": "containerd"}, "maxSurge": int64(1), "maxUnavailable": int64(0),
		"systemComponents": map[string]any{"allow": true}, "updateStrategy": "AutoRollingUpdate",
	}
	if err != nil || len(pools) != 2 {
		t.Fatalf("got %v, %v, want two pools", pools, err)
	}
	if diff := cmp.Diff(any(want), pools[1]); diff != "" {
		t.Errorf("completed pool (-want +got):\n%s", diff)
	}
	if err := g.merge(ctx, `{"spec":{"kubernetes":{"version":"1.36"}}}`); err != nil {
		t.Fatal(err)
	}
	if got := admissiontest.In(g.wire(t).Object, "spec", "kubernetes")["version"]; got != "1.36.3" {
		t.Errorf("asked for 1.36, a shoot at 1.36.3 goes to %v", got)
	}
}

func profileOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	profile := &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"}}
	patch := func(text string) error {
		return g.Patch(ctx, profile.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
	refused(t, patch(`{"spec":{"kubernetes":{"versions":[{"version":"1.35.0"}]}}}`), http.StatusForbidden,
		"spec.kubernetes.versions",
		"cannot remove the Kubernetes version 1.36.3: it is in use by shoot garden-p/alpha")
	refused(t, patch(`{"spec":{"kubernetes":{"versions":[{"version":"1.35.0"},{"version":"1.36.3"},`+
		`{"version":"1.37.x"}]}}}`), http.StatusUnprocessableEntity,
		"spec.kubernetes.versions[2].version", `Invalid value: "1.37.x": must be a semantic version`)
	refused(t, g.Delete(ctx, profile), http.StatusForbidden, "metadata.deletionTimestamp",
		"must not be deleted while it is in use by shoot garden-p/alpha")
	other := admissiontest.Profile()
	other.Name, other.Spec.MachineImages = "other", nil
	other.Spec.MachineImages = []gardencorev1beta1.MachineImage{}
	refused(t, g.Create(ctx, other), http.StatusUnprocessableEntity, "spec.machineImages",
		"must provide at least one machine image")
	if err := patch(`{"metadata":{"labels":{"a":"b"}},"spec":{"kubernetes":{"versions":[{"version":"1.35.0"},` +
		`{"version":"1.36.3"},{"version":"1.36.4"}]}}}`); err != nil {
		t.Errorf("a change that takes away what nobody uses: %v", err)
	}
}

func domainOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	refused(t, g.merge(ctx, `{"spec":{"dns":{"domain":"alpha.example.test"}}}`), http.StatusUnprocessableEntity,
		"spec.dns.providers", "a primary provider must serve the domain")
	own := `"providers":[{"type":"transplant","primary":true,"credentialsRef":{"apiVersion":"v1","kind":"Secret",` +
		`"name":"route"},"fieldOfTheFuture":7}]`
	if err := g.merge(ctx, `{"spec":{"dns":{"domain":"alpha.example.test",`+own+`}}}`); err != nil {
		t.Fatal(err)
	}
	refused(t, g.merge(ctx, `{"spec":{"dns":{"domain":"beta.example.test"}}}`), http.StatusUnprocessableEntity,
		"spec.dns.domain", `it is "alpha.example.test"`)
	refused(t, g.merge(ctx, `{"spec":{"dns":null}}`), http.StatusUnprocessableEntity, "spec.dns.domain",
		`it is "alpha.example.test"`)
	// Nobody else gets it, or a part of it, even when it is bound to no seed yet.
	other := alphaOnServer("gamma")
	other.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To("gamma.alpha.example.test"),
		Providers: []gardencorev1beta1.DNSProvider{{Primary: ptr.To(true), Type: ptr.To("transplant")}}}
	refused(t, g.Create(ctx, other), http.StatusUnprocessableEntity, "spec.dns.domain",
		"must not lie below or above the domain of another shoot")
}

func moveOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	refused(t, g.merge(ctx, `{"spec":{"seedName":"x"}}`), http.StatusUnprocessableEntity, "spec.seedName",
		`Unsupported value: "x": supported values: "b"`)
	refused(t, g.merge(ctx, `{"spec":{"seedName":"b","purpose":"production"}}`), http.StatusForbidden, "spec.purpose",
		"must not be changed together with spec.seedName")
	refused(t, g.merge(ctx, `{"spec":{"seedName":"b","fieldOfTheFuture":{"on":false}}}`), http.StatusForbidden,
		"spec.fieldOfTheFuture.on", "must not be changed together with spec.seedName")
	if err := g.merge(ctx, `{"spec":{"seedName":null}}`); !apierrors.IsInvalid(err) {
		t.Errorf("taking the seed away: got %v, want it invalid", err)
	}
	if got := admissiontest.In(g.wire(t).Object, "spec")["seedName"]; got != "a" {
		t.Fatalf("after refusals the shoot is bound to %v, want a", got)
	}
	if err := g.merge(ctx, `{"spec":{"seedName":"b"}}`); err != nil {
		t.Fatal(err)
	}
	wantLabels(t, g.wire(t).GetLabels(), "a", "b")
	// Both have it now. What no shoot is bound to may go.
	for _, name := range []string{"a", "b"} {
		seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name}}
		refused(t, g.Delete(ctx, seed), http.StatusForbidden, "metadata.deletionTimestamp",
			"the seed must not be deleted while it is in use by shoot garden-p/alpha")
	}
	spare := admissiontest.Seed("spare")
	g.create(t, &spare)
	if err := g.Delete(ctx, &spare); err != nil {
		t.Errorf("a seed without shoots: %v", err)
	}
}

// An annotation that is set to nothing is asked about as one that is set to something.
func emptyOnServer(t *testing.T, g *gardenOnServer) {
	t.Helper()
	const name = "shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds"
	set := func(value string) error {
		return g.merge(t.Context(), fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, name, value))
	}
	refused(t, set(`""`), http.StatusUnprocessableEntity, "metadata.annotations["+name+"]", `Invalid value: ""`)
	if err := set(`"60"`); err != nil {
		t.Fatal(err)
	}
	refused(t, set(`""`), http.StatusUnprocessableEntity, "metadata.annotations["+name+"]", `Invalid value: ""`)
	if err := set("null"); err != nil {
		t.Fatal(err)
	}
}

func lockOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	g.status(t, `{"status":{"lastOperation":{"type":"Migrate","state":"Processing"}}}`)
	refused(t, g.merge(ctx, `{"spec":{"purpose":"production"}}`), http.StatusForbidden, "spec.purpose",
		`while the control plane is being moved: spec.seedName is "b", status.seedName is "a", status.lastOperation is `+
			`Migrate Processing`)
	refused(t, g.merge(ctx, `{"spec":{"seedName":"a"}}`), http.StatusForbidden, "spec.seedName",
		"status.lastOperation is Migrate Processing")
	if err := g.merge(ctx,
		`{"metadata":{"annotations":{"gardener.cloud/operation":"retry"},"finalizers":["gardener"]}}`); err != nil {
		t.Errorf("metadata during a migration: %v", err)
	}
	emptyOnServer(t, g)
	refused(t, g.Delete(ctx, key("alpha")), http.StatusForbidden, "metadata.deletionTimestamp",
		"status.lastOperation is Migrate Processing")
	// The hand-over is a write to the status: labels follow by themselves.
	g.status(t, `{"status":{"seedName":"b","lastOperation":{"type":"Restore","state":"Succeeded"}}}`)
	poll(t, "the labels name seed b only", func(context.Context) (bool, error) {
		return cmp.Equal(map[string]string{"name.seed.gardener.cloud/b": "true"}, g.wire(t).GetLabels()), nil
	})
	// What is taken off by hand comes back.
	if err := g.merge(ctx, `{"metadata":{"labels":{"name.seed.gardener.cloud/b":null,"mine":"1"}}}`); err != nil {
		t.Fatal(err)
	}
	poll(t, "the label of seed b is back", func(context.Context) (bool, error) {
		return cmp.Equal(map[string]string{"name.seed.gardener.cloud/b": "true", "mine": "1"}, g.wire(t).GetLabels()), nil
	})
	if diff := cmp.Diff(map[string]any{"on": true},
		admissiontest.In(g.wire(t).Object, "spec", "fieldOfTheFuture")); diff != "" {
		t.Errorf("a field that no type has (-want +got):\n%s", diff)
	}
}

func deleteOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	refused(t, g.Delete(ctx, key("alpha")), http.StatusForbidden,
		"metadata.annotations[confirmation.gardener.cloud/deletion]", `must be "true" before the shoot can be deleted`)
	err := g.DeleteAllOf(ctx, key(""), client.InNamespace("garden-p"))
	refused(t, err, http.StatusForbidden, "metadata.annotations[confirmation.gardener.cloud/deletion]",
		`must be "true" before the shoot can be deleted`)
	if err := g.merge(ctx, `{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`); err != nil {
		t.Fatal(err)
	}
	if err := g.Delete(ctx, key("alpha")); err != nil {
		t.Fatal(err)
	}
	if err := g.Delete(ctx, key("alpha")); err != nil {
		t.Errorf("deleting what is being deleted: %v", err)
	}
	refused(t, g.merge(ctx, `{"spec":{"seedName":"a"}}`), http.StatusForbidden, "spec.seedName",
		"must not be changed while the shoot is being deleted")
	forced := `{"metadata":{"annotations":{"shoot.gardener.cloud/force-restore":"true"}},"spec":{"seedName":"a"}}`
	if err := g.merge(ctx, forced, client.DryRunAll); err != nil {
		t.Errorf("a forced restore of what is being deleted: %v", err)
	}
}

// serverAwayOnServer shows that nothing which needs an answer passes without one, and that gardenlets can go on.
func serverAwayOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	for what, err := range map[string]error{
		"create": g.Create(ctx, alphaOnServer("beta"), client.DryRunAll),
		"spec":   g.merge(ctx, `{"spec":{"purpose":"production"}}`, client.DryRunAll),
		"delete": g.Delete(ctx, key("alpha"), client.DryRunAll),
	} {
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("%s without the server: got %v, want a failed call", what, err)
		}
	}
	g.status(t, `{"status":{"lastOperation":{"type":"Delete","state":"Processing"}}}`)
	if err := g.merge(ctx, `{"metadata":{"annotations":{"gardener.cloud/operation":null}}}`); err != nil {
		t.Errorf("metadata without the server: %v", err)
	}
	if err := g.merge(ctx, `{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("the last finalizer without the server: %v", err)
	}
	if err := g.Get(ctx, client.ObjectKeyFromObject(key("alpha")), key("")); !apierrors.IsNotFound(err) {
		t.Errorf("after its last finalizer the shoot is still there: %v", err)
	}
}

func wantLabels(t *testing.T, labels map[string]string, seeds ...string) {
	t.Helper()
	want := map[string]string{}
	for _, seed := range seeds {
		want["name.seed.gardener.cloud/"+seed] = "true"
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
