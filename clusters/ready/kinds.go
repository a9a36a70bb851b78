package ready

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Kinds asks for an object of each kind that is defined in a cluster, and begins a watch of it. At the first question
// for a kind, an API server makes the store of that kind. Until it is filled, whoever begins a watch is sent away for a
// second. It returns an error while this is so for a kind.
func Kinds(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // limits are the API server's business
	definitions, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for definitions: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for objects of each kind: %w", err)
	}
	all, err := definitions.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the definitions: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, definition := range all.Items {
		served := slices.IndexFunc(definition.Spec.Versions,
			func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served })
		if served < 0 {
			continue
		}
		kind := schema.GroupVersionResource{Group: definition.Spec.Group, Version: definition.Spec.Versions[served].Name,
			Resource: definition.Spec.Names.Plural}
		group.Go(func() error {
			if _, err := objects.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
				return fmt.Errorf("list one of %s: %w", definition.Name, err)
			}
			// A list is answered by etcd while the store is being filled; a watch is refused.
			stream, err := definitions.Discovery().RESTClient().Get().AbsPath("/apis", kind.Group, kind.Version, kind.Resource).
				Param("watch", "true").MaxRetries(0).Stream(ctx)
			if err != nil {
				return fmt.Errorf("watch %s: %w", definition.Name, err)
			}
			return stream.Close()
		})
	}
	return group.Wait()
}
