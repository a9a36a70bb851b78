package inventory

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Phase of a control-plane namespace: not there, there, or being deleted.
type Phase int

// Phases of a control-plane namespace.
const (
	Gone Phase = iota
	There
	Going
)

// ControlPlane lists every object in the control-plane namespace of a shoot on a seed, with those who have written it,
// and says what has become of the namespace by then. Of one that is being deleted it lists nothing: what is missing
// there may have gone with it.
func ControlPlane(
	ctx context.Context, config *rest.Config, shoot, namespace string,
) (seen timeline.InventorySeen, phase Phase, err error) {
	seen = timeline.InventorySeen{When: timeline.Left, Shoot: shoot, Items: []timeline.Item{}}
	config = world.Unlimited(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return seen, Gone, fmt.Errorf("make the client of the seed: %w", err)
	}
	items, unreadable, err := list(ctx, config, namespace)
	if err != nil {
		return seen, Gone, fmt.Errorf("look into namespace %q: %w", namespace, err)
	}
	// Only now: one that is there afterwards was there all the time, for none is made again under its name so soon.
	if phase, err = phaseOf(ctx, client, namespace); err != nil || phase != There {
		return seen, phase, err
	}
	seen.Unreadable = unreadable
	for _, found := range items {
		item := found.item
		item.Managers = found.writers()
		item.Persisted = found.labels[constants.Persist] == constants.LabelTrue
		seen.Items = append(seen.Items, item)
	}
	sortItems(seen.Items)
	return seen, There, nil
}

func phaseOf(ctx context.Context, client kubernetes.Interface, namespace string) (Phase, error) {
	found, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Gone, nil
	case err != nil:
		return Gone, fmt.Errorf("read namespace %q: %w", namespace, err)
	case found.DeletionTimestamp != nil || found.Status.Phase == corev1.NamespaceTerminating:
		return Going, nil
	}
	return There, nil
}
