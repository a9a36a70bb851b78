package inventory_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// objectOf a look; ok is false when it is not in it.
func objectOf(seen timeline.ObjectsSeen, class, name string) (object timeline.ObjectSeen, ok bool) {
	for _, resource := range seen.Resources {
		for _, object := range resource.Objects {
			if resource.Class == class && object.Name == name {
				return object, true
			}
		}
	}
	return timeline.ObjectSeen{}, false
}

func TestObjects_WhatTheySay(t *testing.T) {
	t.Parallel()
	_, _, connect := worldtest.Ready(t, 1)
	c, ctx := worldtest.ClientOf(t, connect), t.Context()
	look := func() timeline.ObjectsSeen {
		t.Helper()
		seen, err := inventory.Objects(ctx, connect)
		if err != nil || len(seen.Unreadable) > 0 {
			t.Fatalf("look: %v, unreadable %v", err, seen.Unreadable)
		}
		return seen
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "u"},
		Data: map[string]string{"a": "1"}}
	for _, name := range []string{"default", world.WorkloadNamespace} {
		configMap.Namespace = name
		if _, err := c.CoreV1().ConfigMaps(name).Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	first := look()
	was, _ := objectOf(first, "configmaps", "c")
	if was.UID != "u" || was.Namespace != "default" || was.Says == "" || first.Version == 0 {
		t.Errorf("the object is %+v, at version %d", was, first.Version)
	}
	for _, resource := range first.Resources {
		for _, o := range resource.Objects {
			if resource.Class == "configmaps" && o.Namespace == world.WorkloadNamespace {
				t.Errorf("the load's ConfigMap %s is listed", o.Name)
			}
		}
	}
	if _, listed := objectOf(first, "nodes", "node-0"); !listed {
		t.Error("the node is not listed")
	}
	if lease, _ := objectOf(first, "leases.coordination.k8s.io", "node-0"); len(lease.Owners) != 1 {
		t.Errorf("the node's lease is %+v", lease)
	}
	configMap.Namespace, configMap.Data = "default", map[string]string{"a": "2"}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"2"}}`))
	content, err := patch.Data(configMap)
	if err != nil {
		t.Fatal(err)
	}
	configMaps := c.CoreV1().ConfigMaps("default")
	if _, err := configMaps.Patch(ctx, "c", patch.Type(), content, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if now, _ := objectOf(look(), "configmaps", "c"); now.Says == was.Says || now.UID != was.UID {
		t.Errorf("after a change it is %+v, before %+v", now, was)
	}
}

// On a real API server custom resources are listed with their definitions, and what the server says of itself is not.
func TestObjects_OnARealServer(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{})
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	anything := true
	if err := c.Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "grants.acme.test"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "acme.test", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "grants", Singular: "grant", Kind: "Grant",
				ListKind: "GrantList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: &anything,
					},
				}}},
		},
	}); err != nil {
		t.Fatal(err)
	}
	worldtest.Until(t, func() bool {
		seen, err := inventory.Objects(t.Context(), func(context.Context) (*rest.Config, error) { return config, nil })
		if err != nil {
			t.Fatal(err)
		}
		_, defined := objectOf(seen, "customresourcedefinitions.apiextensions.k8s.io", "grants.acme.test")
		served := slices.ContainsFunc(seen.Resources,
			func(r timeline.ResourceSeen) bool { return r.Class == "grants.acme.test" && r.Kind == "Grant" })
		_, role := objectOf(seen, "clusterroles.rbac.authorization.k8s.io", "cluster-admin")
		leases, err := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("kube-system").List(t.Context(),
			metav1.ListOptions{LabelSelector: "apiserver.kubernetes.io/identity"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range leases.Items {
			if _, listed := objectOf(seen, "leases.coordination.k8s.io", leases.Items[i].Name); listed {
				t.Fatalf("the server's own Lease %s is listed", leases.Items[i].Name)
			}
		}
		return defined && served && role && len(leases.Items) > 0 && seen.Version > 0 && len(seen.Unreadable) == 0
	})
}
