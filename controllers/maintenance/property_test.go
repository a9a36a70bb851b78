package maintenance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance"
	"github.com/transplant-sim/transplant/controllers/maintenance/image"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
)

// rolls is for how many shoots each property is checked.
const rolls = 300

// forAll checks a property for random shoots; the seed names the one that fails.
func forAll(t *testing.T, property func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot,
	profile *gardencorev1beta1.CloudProfile)) {
	t.Helper()
	t.Parallel()
	for seed := range uint64(rolls) {
		d := newDice(seed)
		profile := d.profile()
		property(t, seed, d.shoot(profile), profile)
	}
}

func decide(shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) maintenance.Plan {
	return maintenance.Decide(shoot, profile, noon, maintenance.Config{})
}

// kubernetesUpdates are those of the control plane and of the pools.
func kubernetesUpdates(plan maintenance.Plan) []version.Update {
	updates := []version.Update{plan.ControlPlane}
	for _, pool := range plan.Pools {
		if pool.Kubernetes != nil {
			updates = append(updates, *pool.Kubernetes)
		}
	}
	return updates
}

func classOf(versions []gardencorev1beta1.ExpirableVersion, text string) gardencorev1beta1.VersionClassification {
	for _, v := range versions {
		if v.Version == text {
			return version.ClassAt(v, noon)
		}
	}
	return ""
}

func TestKubernetesUpdatesKeepTheirBounds(t *testing.T) {
	seen, tempted := map[version.Class]int{}, 0
	t.Cleanup(func() {
		if tempted < 20 {
			t.Errorf("only %d forced updates had a later minor version to skip to", tempted)
		}
		for _, class := range []version.Class{version.None, version.Automatic, version.Forced, version.Failed} {
			if seen[class] < 20 {
				t.Errorf("only %d updates of class %s were looked at", seen[class], class)
			}
		}
	})
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		for _, update := range kubernetesUpdates(decide(shoot, profile)) {
			seen[update.Class]++
			from, to := semver.MustParse(update.From), semver.MustParse(update.To)
			class := classOf(profile.Spec.Kubernetes.Versions, update.To)
			// By force a pool joins its control plane, whatever the class of that version.
			joins := update.Class == version.Forced && update.To == shoot.Spec.Kubernetes.Version
			if update.Class == version.Forced && slices.ContainsFunc(update.Unchosen, func(unchosen version.Unchosen) bool {
				return strings.HasPrefix(unchosen.Why, "would skip a minor version")
			}) {
				tempted++
			}
			switch {
			case !update.Changes() && update.From != update.To, to.LessThan(from), update.Changes() && !to.GreaterThan(from):
				t.Errorf("seed %d: %+v", seed, update)
			case !update.Changes():
			case from.Major() != to.Major() || to.Minor() > from.Minor()+1:
				t.Errorf("seed %d: skips a minor version: %+v", seed, update)
			case update.Class == version.Automatic &&
				(from.Minor() != to.Minor() || class == gardencorev1beta1.ClassificationExpired):
				t.Errorf("seed %d: automatic, to a version that is %s: %+v", seed, class, update)
			case !joins && (class == gardencorev1beta1.ClassificationPreview ||
				class == gardencorev1beta1.ClassificationUnavailable):
				t.Errorf("seed %d: %s version: %+v", seed, class, update)
			}
		}
	})
}

func TestImageUpdatesKeepTheirBounds(t *testing.T) {
	changed, steps := 0, 0
	t.Cleanup(func() {
		if changed < 50 || steps < 10 {
			t.Errorf("only %d updates were looked at, %d of them to a later minor or major version by force", changed, steps)
		}
	})
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		plan := decide(shoot, profile)
		for i, pool := range plan.Pools {
			if !pool.MachineImage.Changes() {
				continue
			}
			changed++
			worker := &plan.Shoot.Spec.Provider.Workers[i]
			offered := profile.Spec.MachineImages[slices.IndexFunc(profile.Spec.MachineImages,
				func(o gardencorev1beta1.MachineImage) bool {
					return o.Name == worker.Machine.Image.Name
				})]
			chosen := offered.Versions[slices.IndexFunc(offered.Versions, func(v gardencorev1beta1.MachineImageVersion) bool {
				return v.Version == pool.MachineImage.To
			})]
			from, to := semver.MustParse(pool.MachineImage.From), semver.MustParse(pool.MachineImage.To)
			class := version.ClassAt(chosen.ExpirableVersion, noon)
			if class == gardencorev1beta1.ClassificationPreview || class == gardencorev1beta1.ClassificationUnavailable ||
				class == gardencorev1beta1.ClassificationExpired && pool.MachineImage.Class == version.Automatic ||
				!to.GreaterThan(from) {
				t.Errorf("seed %d: to a version that is %s: %+v", seed, class, pool.MachineImage)
			}
			kubelet := plan.Shoot.Spec.Kubernetes.Version
			if worker.Kubernetes != nil {
				kubelet = *worker.Kubernetes.Version
			}
			fits := image.Pool{Worker: &shoot.Spec.Provider.Workers[i], Kubelet: semver.MustParse(kubelet),
				MachineType: &profile.Spec.MachineTypes[0]}
			if why := fits.Misfit(chosen); why != "" {
				t.Errorf("seed %d: the pool gets %s, which %s", seed, pool.MachineImage.To, why)
			}
			strategy := version.ImageStrategy(&offered)
			if pool.MachineImage.Class == version.Automatic && !within(strategy, from, to) {
				t.Errorf("seed %d: leaves what the strategy %s updates to: %+v", seed, strategy, pool.MachineImage)
			}
			if pool.MachineImage.Class != version.Forced || within(strategy, from, to) {
				continue
			}
			steps++
			for _, between := range offered.Versions {
				number := semver.MustParse(between.Version)
				class := version.ClassAt(between.ExpirableVersion, noon)
				skippable := class == gardencorev1beta1.ClassificationPreview ||
					class == gardencorev1beta1.ClassificationUnavailable || fits.Misfit(between) != ""
				if !skippable && number.GreaterThan(from) && number.LessThan(to) && !within(strategy, from, number) &&
					!within(strategy, number, to) {
					t.Errorf("seed %d: skips %s: %+v", seed, between.Version, pool.MachineImage)
				}
			}
		}
	})
}

// within is whether both versions are of what automatic updates of an image stay in.
func within(strategy version.Strategy, a, b *semver.Version) bool {
	switch strategy {
	case version.Patch:
		return a.Major() == b.Major() && a.Minor() == b.Minor()
	case version.Minor:
		return a.Major() == b.Major()
	default:
		return true
	}
}

// TestMaintenanceStrandsNoPool is about what admission would refuse.
func TestMaintenanceStrandsNoPool(t *testing.T) {
	refused := 0
	t.Cleanup(func() {
		if refused == 0 {
			t.Error("nothing was ever refused")
		}
	})
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		plan := decide(shoot, profile)
		if plan.ControlPlane.Class == version.Failed && len(plan.ControlPlane.Unchosen) > 0 &&
			plan.ControlPlane.Unchosen[0].Why == "has to wait: "+plan.ControlPlane.Failure {
			refused++
		}
		controlPlane := semver.MustParse(plan.ControlPlane.To)
		for i, pool := range plan.Pools {
			if pool.Kubernetes == nil {
				continue
			}
			before, after := semver.MustParse(pool.Kubernetes.From), semver.MustParse(pool.Kubernetes.To)
			if after.GreaterThan(controlPlane) && !after.Equal(before) {
				t.Errorf("seed %d: pool %d gets ahead: %+v", seed, i, pool.Kubernetes)
			}
			if plan.ControlPlane.Changes() && after.Minor()+versionrules.MaxSkew < controlPlane.Minor() {
				t.Errorf("seed %d: pool %d at %s is left behind by %s", seed, i, after, controlPlane)
			}
		}
	})
}

func TestMaintenance_Repeated_Settles(t *testing.T) {
	longest := 0
	t.Cleanup(func() {
		if longest < 3 {
			t.Errorf("no shoot took more than %d rounds", longest)
		}
	})
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		for round := range 30 {
			next := decide(shoot, profile).Shoot
			if cmp.Equal(shoot.Spec, next.Spec) {
				longest = max(longest, round)
				return
			}
			shoot = next
		}
		t.Errorf("seed %d: still changing after 30 rounds", seed)
	})
}

func TestOrderOfVersionsPlaysNoRole(t *testing.T) {
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		want := decide(shoot, profile)
		shuffled := profile.DeepCopy()
		d := newDice(seed + rolls)
		d.Shuffle(len(shuffled.Spec.Kubernetes.Versions), func(i, j int) {
			v := shuffled.Spec.Kubernetes.Versions
			v[i], v[j] = v[j], v[i]
		})
		for _, offered := range shuffled.Spec.MachineImages {
			d.Shuffle(len(offered.Versions), func(i, j int) {
				offered.Versions[i], offered.Versions[j] = offered.Versions[j], offered.Versions[i]
			})
		}
		if diff := cmp.Diff(want, decide(shoot, shuffled)); diff != "" {
			t.Errorf("seed %d:\n%s", seed, diff)
		}
	})
}

// TestUnreadableVersionsChangeNothing puts nonsense among the versions of a profile.
func TestUnreadableVersionsChangeNothing(t *testing.T) {
	nonsense := []string{"", "latest", "1.x", "v", "1.33.5.1", "1.-1.0", "99999999999999999999.0.0", "１.33.0"}
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		want := decide(shoot, profile)
		d := newDice(seed + 2*rolls)
		for range 3 {
			bad := gardencorev1beta1.ExpirableVersion{Version: d.oneOf(nonsense...)}
			profile.Spec.Kubernetes.Versions = slices.Insert(profile.Spec.Kubernetes.Versions,
				d.IntN(len(profile.Spec.Kubernetes.Versions)), bad)
			for i := range profile.Spec.MachineImages {
				offered := &profile.Spec.MachineImages[i]
				offered.Versions = append(offered.Versions, gardencorev1beta1.MachineImageVersion{
					ExpirableVersion: bad, Architectures: []string{"amd64"},
					CRI: []gardencorev1beta1.CRI{{Name: gardencorev1beta1.CRINameContainerD}},
				})
			}
		}
		if diff := cmp.Diff(want, decide(shoot, profile)); diff != "" {
			t.Errorf("seed %d:\n%s", seed, diff)
		}
	})
}

// TestAShootWithUnreadableVersionsIsReported breaks the shoot's own versions: each is reported, and none is changed.
func TestAShootWithUnreadableVersionsIsReported(t *testing.T) {
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		d := newDice(seed + 3*rolls)
		shoot.Spec.Kubernetes.Version = d.oneOf("", "latest", "1.x")
		for i := range shoot.Spec.Provider.Workers {
			worker := &shoot.Spec.Provider.Workers[i]
			worker.Machine.Type = "m"
			worker.Machine.Image.Version = ptr.To(d.oneOf("", "newest"))
			if worker.Kubernetes != nil {
				worker.Kubernetes.Version = ptr.To("1.x")
			}
		}
		plan := decide(shoot, profile)
		if diff := cmp.Diff(shoot.Spec, plan.Shoot.Spec); diff != "" {
			t.Errorf("seed %d: changed:\n%s", seed, diff)
		}
		updates := kubernetesUpdates(plan)
		for _, pool := range plan.Pools {
			updates = append(updates, *pool.MachineImage)
		}
		for _, update := range updates {
			if update.Class != version.Failed || update.Failure == "" {
				t.Errorf("seed %d: %+v", seed, update)
			}
		}
	})
}

func TestDecideLeavesItsInputsAlone(t *testing.T) {
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		shootBefore, profileBefore := shoot.DeepCopy(), profile.DeepCopy()
		decide(shoot, profile)
		if diff := cmp.Diff(shootBefore, shoot) + cmp.Diff(profileBefore, profile); diff != "" {
			t.Errorf("seed %d:\n%s", seed, diff)
		}
	})
}

// TestAdmissionAcceptsWhatIsPlanned holds the choices to the rules of admission, for shoots that it accepts as they
// are.
func TestAdmissionAcceptsWhatIsPlanned(t *testing.T) {
	changed := 0
	t.Cleanup(func() {
		if changed < 50 {
			t.Errorf("only %d shoots changed", changed)
		}
	})
	forAll(t, func(t *testing.T, seed uint64, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) {
		if len(versionrules.ValidateShoot(shoot, shoot, profile, noon)) > 0 {
			return
		}
		after := decide(shoot, profile).Shoot
		if !cmp.Equal(shoot.Spec, after.Spec) {
			changed++
		}
		for _, err := range versionrules.ValidateShoot(after, shoot, profile, noon) {
			t.Errorf("seed %d: %v", seed, err)
		}
	})
}
