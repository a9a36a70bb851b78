package ready

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Kinds asks for an object of each kind that is defined in a cluster. At the first question for a kind, an API server
// makes the store of that kind. Until it is made, whoever begins a watch is sent away for a second.
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
		kind := schema.GroupVersionResource{Group: definition.Spec.Group, Version: definition.Status.StoredVersions[0],
			Resource: definition.Spec.Names.Plural}
		group.Go(func() error {
			if _, err := objects.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
				return fmt.Errorf("list one of %s: %w", definition.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}
