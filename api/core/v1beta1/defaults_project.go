package v1beta1

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// SetDefaults implements Defaulted. Shoots of the landscape's own project, that of the namespace garden, tolerate
// protected seeds.
func (p *Project) SetDefaults() {
	if p.Spec.Owner != nil {
		setGroup(p.Spec.Owner)
	}
	for i := range p.Spec.Members {
		member := &p.Spec.Members[i]
		setGroup(&member.Subject)
		if member.Role == "" && len(member.Roles) == 0 {
			member.Role = ProjectMemberViewer
		}
	}
	if ptr.Deref(p.Spec.Namespace, "") == constants.GardenNamespace {
		section(&p.Spec.Tolerations).tolerateProtected()
	}
}

// tolerateProtected fills in the lists of the garden's project. The default must be allowed, and a whitelist that has
// the key with a value does not allow it without one.
func (t *ProjectTolerations) tolerateProtected() {
	if !slices.ContainsFunc(t.Defaults, isForProtected) {
		t.Defaults = append(t.Defaults, Toleration{Key: SeedTaintProtected})
	}
	needed := !slices.ContainsFunc(t.Whitelist, isForProtected) || slices.ContainsFunc(t.Defaults, isForAllProtected)
	if needed && !slices.ContainsFunc(t.Whitelist, isForAllProtected) {
		t.Whitelist = append(t.Whitelist, Toleration{Key: SeedTaintProtected})
	}
}

// isForProtected is whether a toleration is for protected seeds, isForAllProtected whether it is for all of them.
func isForProtected(t Toleration) bool    { return t.Key == SeedTaintProtected }
func isForAllProtected(t Toleration) bool { return isForProtected(t) && t.Value == nil }
