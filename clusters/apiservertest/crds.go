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
	"k8s.io/client-go/rest"
)

const establishedPoll = 50 * time.Millisecond

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
	return nil
}

func isEstablished(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
	return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
}
