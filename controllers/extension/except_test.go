package extension

import (
	"strings"
	"testing"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// What is left to others gets no controller, and nobody reports on its health.
func TestKindsAreLeftToOthers(t *testing.T) {
	t.Parallel()
	p := &provider{Except: []string{"Worker"}}
	// There is no manager to which anything could be added.
	if err := add(p, nil, p.worker().Kind(), contract.Options{Type: reference.Type}); err != nil {
		t.Error(err)
	}
	if err := p.addInPlaceProgress(nil); err != nil {
		t.Error(err)
	}
	h := &health{provider: p}
	if !h.leavesObject(&extensionsv1alpha1.Worker{}) || h.leavesObject(&extensionsv1alpha1.Network{}) {
		t.Error("health is not written of the own kinds alone")
	}
	if err := (&flags{except: []string{"Wroker"}}).run(t.Context()); err == nil || !strings.Contains(err.Error(),
		"--except Wroker: there is no such kind") {
		t.Errorf("an unknown kind: %v", err)
	}
}
