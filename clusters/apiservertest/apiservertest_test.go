package apiservertest_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

func beds() *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "beds.garden.test"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "garden.test",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "beds", Singular: "bed", Kind: "Bed",
				ListKind: "BedList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &preserve,
				}},
			}},
		},
	}
}

func TestStart(t *testing.T) {
	begin := time.Now()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: []*apiextensionsv1.CustomResourceDefinition{beds()}})
	t.Logf("ready after %s", time.Since(begin))
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := clients.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.Major != "1" {
		t.Errorf("server version is %q", version)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"}}
	if _, err := clients.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Errorf("create a secret: %v", err)
	}

	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	bed := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "garden.test/v1", "kind": "Bed", "metadata": map[string]any{"name": "b"},
	}}
	resource := schema.GroupVersionResource{Group: "garden.test", Version: "v1", Resource: "beds"}
	if _, err := objects.Resource(resource).Namespace("default").Create(t.Context(), bed,
		metav1.CreateOptions{}); err != nil {
		t.Errorf("create an object of the installed CRD: %v", err)
	}
}

func TestStopFreesThePorts(t *testing.T) {
	server := apiservertest.StartServer(t, apiservertest.Options{})
	if err := server.Stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
	for _, port := range []int{2379, 2380, 6443} {
		listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", server.Cluster.Address, port))
		if err != nil {
			t.Errorf("port %d is still taken: %v", port, err)
			continue
		}
		listener.Close()
	}
	if server.APIServer.Running() || server.Etcd.Running() {
		t.Error("a process still runs")
	}
}
