package step

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
	"github.com/transplant-sim/transplant/sim/world"
)

// Select lets candidate nodes of a shoot be updated in place, as its users do for pools with ManualInPlaceUpdate: it
// labels them node.machine.sapcloud.io/selected-for-update=true (docs/specification/versions.md#spec-4-9). It does not
// wait for the update.
type Select struct {
	// Shoot whose nodes they are.
	Shoot string `json:"shoot"`
	// Nodes is how many of those that are not selected yet, in order of their names; one when not given.
	Nodes int `json:"nodes,omitempty"`
}

var _ Step = &Select{}

// Default fills in the number.
func (s *Select) Default() {
	s.Nodes = cmp.Or(s.Nodes, 1)
}

// Subject is the shoot.
func (s *Select) Subject() string { return s.Shoot }

func (s *Select) String() string {
	return fmt.Sprintf("select %d nodes of %s for their update in place", s.Nodes, s.Shoot)
}

// Check wants an existing shoot and a number.
func (s *Select) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	_, errs := state.Shoot(path.Child("shoot"), s.Shoot, dryrun.Exists)
	errs = append(errs, state.Garden(path)...)
	if s.Nodes < 1 {
		errs = append(errs, field.Invalid(path.Child("nodes"), s.Nodes, "must be at least 1"))
	}
	return errs
}

// Run labels the nodes. Fewer candidates than asked for are an error: the scenario took something for granted.
func (s *Select) Run(ctx context.Context, env *Environment) error {
	config, err := env.World.ConnectShoot(ctx, s.Shoot, world.Observer)
	if err != nil {
		return fmt.Errorf("find out how to reach the shoot %q: %w", s.Shoot, err)
	}
	client, err := kubernetes.NewForConfig(world.Unlimited(config))
	if err != nil {
		return fmt.Errorf("make the client of the shoot %q: %w", s.Shoot, err)
	}
	unselected := machinev1alpha1.LabelCandidateForUpdate + ",!" + machinev1alpha1.LabelSelectedForUpdate
	found, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: unselected})
	if err != nil {
		return fmt.Errorf("list the candidates of the shoot %q: %w", s.Shoot, err)
	}
	if len(found.Items) < s.Nodes {
		return fmt.Errorf("%s: there are %d candidates that are not selected yet", s, len(found.Items))
	}
	slices.SortFunc(found.Items, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, machinev1alpha1.LabelSelectedForUpdate,
		machinev1alpha1.LabelTrue)
	for _, node := range found.Items[:s.Nodes] {
		if _, err := client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("select the node %q of the shoot %q: %w", node.Name, s.Shoot, err)
		}
	}
	return nil
}
