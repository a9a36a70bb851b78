package apiservertest

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const establishedPoll = 20 * time.Millisecond

// installCRDs creates the definitions and waits until all are established, that is, served.
func installCRDs(ctx context.Context, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	clients, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for CRDs: %w", err)
	}
	client := clients.ApiextensionsV1().CustomResourceDefinitions()
	missing := sets.New[string]()
	for _, crd := range crds {
		if _, err := client.Create(ctx, crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("install the CRD %q: %w", crd.Name, err)
		}
		missing.Insert(crd.Name)
	}
	err = wait.PollUntilContextCancel(ctx, establishedPoll, true, func(ctx context.Context) (bool, error) {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, crd := range list.Items {
			if slices.ContainsFunc(crd.Status.Conditions, isEstablished) {
				missing.Delete(crd.Name)
			}
		}
		return missing.Len() == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the CRDs %v to be established: %w", sets.List(missing), err)
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			if err := awaitServed(ctx, clients.Discovery(), crd, version.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitServed waits until a version is discovered and answers: the parts of an API server that do so learn of what is
// established a moment later.
func awaitServed(ctx context.Context, client discovery.DiscoveryInterface,
	crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	at := "/apis/" + crd.Spec.Group + "/" + version
	err := wait.PollUntilContextCancel(ctx, establishedPoll, true, func(ctx context.Context) (bool, error) {
		all, err := client.ServerResourcesForGroupVersion(crd.Spec.Group + "/" + version)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil || !slices.ContainsFunc(all.APIResources, func(r metav1.APIResource) bool {
			return r.Name == crd.Spec.Names.Plural
		}) {
			return false, err
		}
		err = client.RESTClient().Get().AbsPath(at, crd.Spec.Names.Plural).Param("limit", "1").Do(ctx).Error()
		return err == nil, ignoreAway(err)
	})
	if err != nil {
		return fmt.Errorf("wait for the CRD %q to be served at %s: %w", crd.Name, at, err)
	}
	return nil
}

// ignoreAway ignores what an API server says of what it does not have, or serve, yet.
func ignoreAway(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
		return nil
	}
	return err
}

func isEstablished(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
	return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
}
