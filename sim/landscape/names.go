package landscape

import (
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Targets that are no clusters: the cloud, the shoots, and one of them, which is written shoot/<name>.
const (
	cloudTarget  = "cloud"
	shootsTarget = "shoots"
	shootTarget  = "shoot/"
)

// IsNoSeed says whether a name means something else than a seed.
func IsNoSeed(name string) bool {
	return slices.Contains([]string{Garden, cloudTarget, shootsTarget, constants.SeedOutside}, name)
}

// OfSeeds is a landscape of which nothing but seeds and third-party extensions is known.
func OfSeeds(seeds []string, extensions ...Extension) Landscape {
	l := Landscape{Extensions: extensions}
	for _, seed := range seeds {
		l.Seeds = append(l.Seeds, Seed{Name: seed})
	}
	return l
}

// Actors whose traffic crosses links, on this landscape (ARCHITECTURE, Links). The observer is not among them: no
// fault ever reaches it.
func (l Landscape) Actors() []string {
	actors := []string{"garden-controller-manager", "nodes", "user"}
	if l.Garden.Backup {
		actors = append(actors, GardenBackup)
	}
	for _, seed := range l.Seeds {
		actors = append(actors, l.seedActors(seed.Name)...)
	}
	slices.Sort(actors)
	return actors
}

// seedActors are the actors of one seed.
func (l Landscape) seedActors(seed string) []string {
	actors := []string{"gardenlet-" + seed, ReferenceProvider(seed), "gateway-" + seed, "control-planes-" + seed}
	if len(l.Extensions) > 0 {
		actors = append(actors, ResourceManager(seed))
	}
	for _, e := range l.Extensions {
		actors = append(actors, e.ActorOn(seed))
	}
	return actors
}

// ResourceManager is the actor that applies, on a seed, the ManagedResources of class seed. Only third-party extensions
// have any: without them it does not run.
func ResourceManager(seed string) string { return resourceManager + "-" + seed }

const resourceManager = "resource-manager"

// ReferenceProvider is the actor that reconciles, on a seed, the objects of ProviderType that no third-party extension
// does.
func ReferenceProvider(seed string) string { return "extensions-" + seed }

// ProcessActors are the actors that are processes which may be killed or frozen.
func (l Landscape) ProcessActors() []string {
	actors := []string{"garden-controller-manager"}
	for _, seed := range l.Seeds {
		for _, role := range []string{"gardenlet", "extensions", "gateway"} {
			actors = append(actors, role+"-"+seed.Name)
		}
		if len(l.Extensions) > 0 {
			actors = append(actors, ResourceManager(seed.Name))
		}
		for _, e := range l.Extensions {
			actors = append(actors, e.ActorOn(seed.Name))
		}
	}
	slices.Sort(actors)
	return actors
}

// Targets of links on this landscape: clusters, the cloud, and shoots, all ("shoots") or one ("shoot/<name>").
func (l Landscape) Targets() []string {
	targets := append(l.Clusters(), cloudTarget, shootsTarget)
	for _, shoot := range l.Shoots {
		targets = append(targets, shootTarget+shoot.Name)
	}
	slices.Sort(targets)
	return targets
}

// TargetsOf an actor are the targets that it has a link to, on this landscape (ARCHITECTURE, Links). A fault of any
// other link would hit nothing; control planes speak to the seed that they are pods of without one (ADR 0010).
func (l Landscape) TargetsOf(actor string) []string {
	role, seed := l.roleOf(actor)
	spokenTo, known := map[string][]string{
		"garden-controller-manager": {Garden, cloudTarget},
		GardenBackup:                {cloudTarget},
		"gardenlet":                 {Garden, seed, cloudTarget, shootsTarget},
		"extensions":                {seed, cloudTarget},
		"gateway":                   {seed},
		resourceManager:             {seed},
		"control-planes":            {Garden, cloudTarget},
		"nodes":                     {cloudTarget, shootsTarget},
		"user":                      {shootsTarget},
	}[role]
	if slices.ContainsFunc(l.Extensions, func(e Extension) bool { return e.Name == role }) {
		spokenTo, known = []string{seed, cloudTarget}, true
	}
	if !known {
		return l.Targets() // nobody knows what it is meant to be
	}
	if role == "garden-controller-manager" && l.Settings.SecondSign {
		spokenTo = append(spokenTo, shootsTarget) // it asks the shoots of a silent seed
	}
	return slices.DeleteFunc(l.Targets(), func(target string) bool {
		if strings.HasPrefix(target, shootTarget) {
			target = shootsTarget
		}
		return !slices.Contains(spokenTo, target)
	})
}

// roleOf an actor, and the seed that it is on, if it is on one.
func (l Landscape) roleOf(actor string) (role, seed string) {
	for _, seed := range l.SeedNames() {
		if slices.Contains(l.seedActors(seed), actor) {
			return strings.TrimSuffix(actor, "-"+seed), seed
		}
	}
	return actor, ""
}

// RoleOf an actor is its name without that of its seed, if it is on one.
func (l Landscape) RoleOf(actor string) string {
	role, _ := l.roleOf(actor)
	return role
}

// HomeOf an actor is the cluster that it runs on; empty for those that are on none.
func (l Landscape) HomeOf(actor string) string {
	if actor == "garden-controller-manager" || actor == GardenBackup {
		return Garden
	}
	_, seed := l.roleOf(actor)
	return seed
}

// Clusters are the garden and the seeds.
func (l Landscape) Clusters() []string { return append([]string{Garden}, l.SeedNames()...) }

// SeedNames are the names of the seeds, in order.
func (l Landscape) SeedNames() []string {
	var names []string
	for _, seed := range l.Seeds {
		names = append(names, seed.Name)
	}
	return names
}

// ShootNames are the names of the shoots, in order.
func (l Landscape) ShootNames() []string {
	var names []string
	for _, shoot := range l.Shoots {
		names = append(names, shoot.Name)
	}
	return names
}

// ExtensionNames are the names of the third-party extensions, in order.
func (l Landscape) ExtensionNames() []string {
	var names []string
	for _, e := range l.Extensions {
		names = append(names, e.Name)
	}
	return names
}

// Shoot finds a shoot by name.
func (l Landscape) Shoot(name string) (Shoot, bool) {
	for _, shoot := range l.Shoots {
		if shoot.Name == name {
			return shoot, true
		}
	}
	return Shoot{}, false
}

// ProgramsOf a cluster that may be killed or frozen. The garden has no etcd of its own if that has members elsewhere.
func (l Landscape) ProgramsOf(cluster string) []string {
	return slices.DeleteFunc(ClusterPrograms(), func(program string) bool {
		return program == "etcd" && cluster == Garden && len(l.Garden.Members) > 0
	})
}

// ClusterPrograms are the programs of a cluster that may be killed or frozen.
func ClusterPrograms() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
}

// ControlPlanePrograms are the programs of a shoot's control plane that may be killed or frozen.
func ControlPlanePrograms() []string {
	return []string{"backup", "etcd", "gardener-resource-manager", "guard", "kube-apiserver", "kube-controller-manager",
		"kube-scheduler", "machine-controller"}
}
