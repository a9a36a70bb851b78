package seed

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
)

// inventory is the names, in one project namespace, of what a seed needs to look after its shoots.
type inventory struct {
	shoots, entries                    sets.Set[string]
	readSecrets, readConfigs           sets.Set[string]
	claims, writeSecrets, writeConfigs sets.Set[string]
	// present are the claims of the shoots that the seed has. Those that are on their way to it are not among them.
	present sets.Set[string]
}

func newInventory() *inventory {
	return &inventory{
		shoots: sets.New[string](), entries: sets.New[string](), readSecrets: sets.New[string](),
		readConfigs: sets.New[string](),
		claims:      sets.New[string](), writeSecrets: sets.New[string](), writeConfigs: sets.New[string](),
		present: sets.New[string](),
	}
}

// inventoriesOf the seeds in one project namespace, by seed. A shoot belongs to the seed that it is bound to and to the
// one that has it: in a migration both have work to do. Its BackupEntries go with it, whatever seed they name: after an
// evacuation that is the lost one, until the new owner has adopted them.
func inventoriesOf(shoots []gardencorev1beta1.Shoot, entries []gardencorev1beta1.BackupEntry) map[string]*inventory {
	all := map[string]*inventory{}
	of := func(seeds ...*string) []*inventory {
		var found []*inventory
		for _, seed := range seeds {
			name := ptr.Deref(seed, "")
			if name == "" {
				continue
			}
			if all[name] == nil {
				all[name] = newInventory()
			}
			found = append(found, all[name])
		}
		return found
	}
	ofShoots := sets.New[string]()
	for i := range shoots {
		ofShoots.Insert(backupentry.NamesOf(&shoots[i])...)
		for _, b := range of(shoots[i].Spec.SeedName, shoots[i].Status.SeedName) {
			b.add(&shoots[i])
		}
		for _, b := range of(shoots[i].Status.SeedName) {
			b.present.Insert(scope.OwnerLease(shoots[i].Name))
		}
	}
	// An entry outlives its shoot.
	for i := range entries {
		if ofShoots.Has(entries[i].Name) {
			continue
		}
		for _, b := range of(entries[i].Spec.SeedName, entries[i].Status.SeedName) {
			b.entries.Insert(entries[i].Name)
		}
	}
	return all
}

func (b *inventory) add(shoot *gardencorev1beta1.Shoot) {
	b.shoots.Insert(shoot.Name)
	b.claims.Insert(scope.OwnerLease(shoot.Name))
	b.writeSecrets.Insert(shoot.Name + shootaccess.SuffixKubeconfig)
	b.writeConfigs.Insert(shoot.Name + shootaccess.SuffixCA)
	b.entries.Insert(backupentry.NamesOf(shoot)...)
	secrets, configs := namespace.Referenced(shoot)
	b.readSecrets.Insert(secrets...)
	b.readConfigs.Insert(configs...)
}

// roles of the seed in the namespace, by name.
func (b *inventory) roles(seed string, lost bool) map[string]role {
	all, claims := map[string]role{}, b.claims
	if lost {
		claims = b.present
	} else {
		all[accessPrefix+seed] = role{seed: seed, account: gardenletPrefix + seed, rules: b.gardenletRules()}
	}
	if rules := claimRules(claims); len(rules) > 0 {
		all[accessPrefix+seed+":control-planes"] = role{seed: seed, account: controlPlanesPrefix + seed, rules: rules}
	}
	return all
}

// gardenletRules are what a gardenlet may do in the namespace. That it creates nothing but what it may patch by name is
// for the policy seeds-create-their-own: RBAC does not know the name of what is created.
func (b *inventory) gardenletRules() []rbacv1.PolicyRule {
	core := gardencorev1beta1.SchemeGroupVersion.Group
	chunks := transplantv1alpha1.SchemeGroupVersion.Group
	rules := claimRules(b.claims)
	named := func(group string, names sets.Set[string], verbs []string, resources ...string) {
		if len(names) > 0 { // a rule without names is one for all
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources,
				ResourceNames: sets.List(names), Verbs: verbs})
		}
	}
	named(core, b.shoots, []string{"patch"}, "shoots", "shoots/status")
	named(core, b.shoots, []string{"get", "patch", "delete"}, "shootstates")
	named(core, b.entries, []string{"patch", "delete"}, "backupentries", "backupentries/status")
	named("coordination.k8s.io", b.claims, []string{"delete"}, "leases")
	named("", b.readSecrets, []string{"get"}, "secrets")
	named("", b.readConfigs, []string{"get"}, "configmaps")
	named("", b.writeSecrets, []string{"patch"}, "secrets")
	named("", b.writeConfigs, []string{"patch"}, "configmaps")
	if len(b.shoots) == 0 {
		return rules
	}
	return append(rules,
		rbacv1.PolicyRule{APIGroups: []string{core}, Resources: []string{"backupentries", "shootstates"},
			Verbs: []string{"create"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"create"}},
		// Their names are made of what they contain: nobody knows them in advance, and nobody may list them. Who knows
		// a name has read the ShootState that refers to it. That a seed writes those of its shoots only is for
		// seeds-write-their-chunks.
		rbacv1.PolicyRule{
			APIGroups: []string{chunks}, Resources: []string{"shootstatechunks"}, Verbs: []string{"create", "delete", "get",
				"patch"},
		},
	)
}

// claimRules are what the control planes of shoots may do in the namespace: mend their claims, also those that the
// garden has lost (docs/ownership.md#o3).
func claimRules(claims sets.Set[string]) []rbacv1.PolicyRule {
	if len(claims) == 0 {
		return nil
	}
	leases := []string{"coordination.k8s.io"}
	return []rbacv1.PolicyRule{
		{APIGroups: leases, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: leases, Resources: []string{"leases"}, ResourceNames: sets.List(claims), Verbs: []string{"patch"}},
	}
}

// seedRules are what the gardenlet of a seed that is not lost may do in the whole garden: keep its BackupBucket, which
// has the name of the Seed's UID, and write events.
func seedRules(seed *gardencorev1beta1.Seed) []rbacv1.PolicyRule {
	core := []string{gardencorev1beta1.SchemeGroupVersion.Group}
	return []rbacv1.PolicyRule{
		{APIGroups: core, Resources: []string{"backupbuckets"}, Verbs: []string{"create"}},
		{APIGroups: core, Resources: []string{"backupbuckets", "backupbuckets/status"},
			ResourceNames: []string{string(seed.UID)}, Verbs: []string{"patch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch", "update"}},
	}
}
