package ready_test

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/ready"
)

// A watch of a kind that nobody has asked for yet is refused for a second.
func TestKinds_KindThatIsServed_CanBeWatchedAtOnce(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{})
	clients, err := apiextensions.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget",
		ListKind: "WidgetList"}
	keep := true
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.ready.test"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "ready.test", Scope: apiextensionsv1.ClusterScoped, Names: names,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
				}}}},
		},
	}
	if _, err := clients.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), definition,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ready.Kinds(ctx, config) != nil { // until it is served
		if ctx.Err() != nil {
			t.Fatal("the kind is never served")
		}
	}
	watch := clients.Discovery().RESTClient().Get().AbsPath("/apis/ready.test/v1/widgets").Param("watch", "true").
		MaxRetries(0)
	stream, err := watch.Stream(t.Context())
	if err != nil {
		t.Fatalf("watch a kind that was asked for: %v", err)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}
