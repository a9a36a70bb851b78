package namespace

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

func refersTo(version, kind, name string) gardencorev1beta1.NamedResourceReference {
	return gardencorev1beta1.NamedResourceReference{Name: "the-" + name,
		ResourceRef: autoscalingv1.CrossVersionObjectReference{APIVersion: version, Kind: kind, Name: name}}
}

// What a shoot refers to is copied to its control plane on a real API server, kept as it is in the project, and removed
// when nobody refers to it any more; what others have there stays.
func TestReferencedResources(t *testing.T) {
	t.Parallel()
	c, err := client.New(apiservertest.Start(t, apiservertest.Options{}),
		client.Options{Scheme: controlplanetest.SeedScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const project, seed = "garden-p", "shoot--p--alpha"
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"mine": "yes"}}
	}
	for _, name := range []string{project, seed} {
		must(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	token := &corev1.Secret{ObjectMeta: in(project, "token"), Data: map[string][]byte{"token": []byte("1"),
		"old": []byte("x")}}
	must(c.Create(t.Context(), token))
	must(c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: in(project, "policy"),
		Data: map[string]string{"rules": "none"}, BinaryData: map[string][]byte{"logo": {1}}}))
	must(c.Create(t.Context(), &corev1.Secret{ObjectMeta: in(seed, "ref-not-ours")}))
	o := &References{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{})}
	o.Garden, o.Seed = c, c
	o.Shoot.Spec.Resources = []gardencorev1beta1.NamedResourceReference{refersTo("v1", "Secret", "token"),
		refersTo("v1", "ConfigMap", "policy")}
	deploy := func() {
		t.Helper()
		must(o.Deploy(t.Context()))
		must(o.DeleteStale(t.Context()))
	}
	copies := func() map[string]any {
		t.Helper()
		secrets, configs := &corev1.SecretList{}, &corev1.ConfigMapList{}
		must(c.List(t.Context(), secrets, client.InNamespace(seed)))
		must(c.List(t.Context(), configs, client.InNamespace(seed)))
		found := map[string]any{}
		for _, s := range secrets.Items {
			found["Secret "+s.Name] = map[string]any{"type": string(s.Type), "data": s.Data, "labels": s.Labels}
		}
		for _, m := range configs.Items {
			if m.Name != "kube-root-ca.crt" {
				found["ConfigMap "+m.Name] = map[string]any{"data": m.Data, "binary": m.BinaryData, "labels": m.Labels}
			}
		}
		return found
	}
	labels := map[string]string{"transplant.dev/referenced-resource": "true"}
	others := map[string]any{"type": "Opaque", "data": map[string][]byte(nil), "labels": map[string]string(nil)}
	policy := map[string]any{"data": map[string]string{"rules": "none"}, "binary": map[string][]byte{"logo": {1}},
		"labels": labels}
	check := func(what string, want map[string]any) {
		t.Helper()
		want["Secret ref-not-ours"] = others
		if diff := cmp.Diff(want, copies()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}

	deploy()
	check("at first", map[string]any{"ConfigMap ref-policy": policy,
		"Secret ref-token": map[string]any{"type": "Opaque", "data": map[string][]byte{"token": []byte("1"),
			"old": []byte("x")}, "labels": labels}})

	must(c.Delete(t.Context(), token))
	must(c.Create(t.Context(), &corev1.Secret{ObjectMeta: in(project, "token"), Type: corev1.SecretTypeBasicAuth,
		Data: map[string][]byte{"username": []byte("u")}}))
	deploy()
	check("when it is another one", map[string]any{"ConfigMap ref-policy": policy,
		"Secret ref-token": map[string]any{"type": "kubernetes.io/basic-auth",
			"data": map[string][]byte{"username": []byte("u")}, "labels": labels}})

	o.Shoot.Spec.Resources = o.Shoot.Spec.Resources[1:]
	deploy()
	check("when it is not referred to any more", map[string]any{"ConfigMap ref-policy": policy})
}

// What cannot be copied is reported; a deletion goes on with the copy that is there.
func TestReferencedResourcesThatCannotBeCopied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refers gardencorev1beta1.NamedResourceReference
		want   string
		code   gardencorev1beta1.ErrorCode
	}{
		"gone": {refersTo("v1", "Secret", "gone"), `Secret "gone" does not exist in namespace "garden-p"`,
			"ERR_RETRYABLE_CONFIGURATION_PROBLEM"},
		"another kind": {refersTo("v1", "Pod", "p"), "must be a Secret or a ConfigMap", "ERR_CONFIGURATION_PROBLEM"},
		"another group": {refersTo("example.com/v1", "Secret", "s"), "it is a Secret of example.com/v1",
			"ERR_CONFIGURATION_PROBLEM"},
	} {
		onA, _ := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, nil, interceptor.Funcs{})
		o := &References{Scope: onA}
		o.Shoot.Spec.Resources = []gardencorev1beta1.NamedResourceReference{c.refers}
		err := o.Deploy(t.Context())
		coded := &errorcodes.Error{}
		if !errors.As(err, &coded) || !strings.Contains(err.Error(), c.want) || !cmp.Equal(coded.Codes,
			[]gardencorev1beta1.ErrorCode{c.code}) {
			t.Errorf("%s: %v, codes %v", name, err, coded.Codes)
		}
	}
	onA, _ := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeDelete, nil, interceptor.Funcs{})
	o := &References{Scope: onA}
	o.Shoot.DeletionTimestamp = &metav1.Time{}
	o.Shoot.Spec.Resources = []gardencorev1beta1.NamedResourceReference{refersTo("v1", "Secret", "gone")}
	if err := o.Deploy(t.Context()); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	cut := interceptor.NewClient(o.Garden.(client.WithWatch),
		interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
			...client.GetOption) error {
			return apierrors.NewServiceUnavailable("no answer")
		}})
	if o.Garden = cut; !apierrors.IsServiceUnavailable(o.Deploy(t.Context())) {
		t.Error("a garden that does not answer passes for one that has nothing")
	}
}
