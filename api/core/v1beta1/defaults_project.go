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
		tolerations := section(&p.Spec.Tolerations)
		tolerateProtected(&tolerations.Defaults)
		tolerateProtected(&tolerations.Whitelist)
	}
}

// tolerateProtected adds the toleration of all protected seeds. One that the list has with a value is another one.
func tolerateProtected(tolerations *[]Toleration) {
	all := func(t Toleration) bool { return t.Key == SeedTaintProtected && t.Value == nil }
	if !slices.ContainsFunc(*tolerations, all) {
		*tolerations = append(*tolerations, Toleration{Key: SeedTaintProtected})
	}
}
