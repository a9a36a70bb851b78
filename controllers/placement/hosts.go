package placement

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
)

// Hosts are the managed seeds, seeds that are shoots, by name (docs/specification/nodes-and-seeds.md#spec-7-7).
type Hosts map[string]Hosted

// Hosted is a seed that is a shoot.
type Hosted struct {
	// Shoot is the shoot that the seed is.
	Shoot types.NamespacedName
	// By is the seed that has the shoot's control plane, or is to have it; empty if none has it.
	By string
}

// HostsOf finds out which seed has the control plane of each managed seed.
func HostsOf(managed []seedmanagementv1alpha1.ManagedSeed, shoots []gardencorev1beta1.Shoot) Hosts {
	if len(managed) == 0 {
		return nil
	}
	by := map[types.NamespacedName]string{}
	for i := range shoots {
		shoot := &shoots[i]
		by[keyOf(shoot)] = ptr.Deref(shoot.Spec.SeedName, ptr.Deref(shoot.Status.SeedName, ""))
	}
	hosts := Hosts{}
	for i := range managed {
		seed := &managed[i]
		shoot := types.NamespacedName{Namespace: seed.Namespace, Name: seed.Spec.Shoot.Name}
		hosts[seed.Name] = Hosted{Shoot: shoot, By: by[shoot]}
	}
	return hosts
}

func keyOf(shoot *gardencorev1beta1.Shoot) types.NamespacedName {
	return types.NamespacedName{Namespace: shoot.Namespace, Name: shoot.Name}
}

// self is the seed that the shoot is; empty if it is none.
func (q *Question) self() string {
	for seed, hosted := range q.Hosts {
		if hosted.Shoot == keyOf(q.Shoot) {
			return seed
		}
	}
	return ""
}

// above are the seeds on which a seed depends: its host, the host of that, and so on, each once. The seed that the
// shoot is ends the list, and is its last: whatever hosts it now is about to change.
func (q *Question) above(seed string) []string {
	var chain []string
	seen, self := map[string]bool{seed: true}, q.self()
	for host := q.Hosts[seed].By; host != "" && !seen[host]; host = q.Hosts[host].By {
		seen[host] = true
		chain = append(chain, host)
		if host == self {
			break
		}
	}
	return chain
}

// noCircle keeps two seeds from hosting each other: the loss of one would leave nobody to restore it. A circle of three
// is a ring (docs/adr/0028-a-circle-of-three-is-a-ring.md).
func noCircle(q *Question, seed *gardencorev1beta1.Seed) string {
	switch self := q.self(); self {
	case "":
	case seed.Name:
		return "is the shoot itself"
	case q.Hosts[seed.Name].By:
		return fmt.Sprintf("is hosted by %q, which is the shoot itself: of two seeds that host each other, the loss of one "+
			"leaves nobody to restore it", self)
	}
	return ""
}

// oneMemberEach keeps the loss of one managed seed from being the loss of several others at once.
func oneMemberEach(q *Question, seed *gardencorev1beta1.Seed) string {
	self := q.self()
	if _, managed := q.Hosts[seed.Name]; self == "" || !managed {
		return ""
	}
	first := ""
	for name, hosted := range q.Hosts {
		if name != self && hosted.By == seed.Name && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return ""
	}
	return fmt.Sprintf("is a managed seed and hosts the control plane of the managed seed %q: it may host one", first)
}

// hostsWell asks that all is well above the seed: what depends on a seed that is lost is no refuge until its own
// control plane is elsewhere. The seed that the shoot is counts as well: its control plane is what is placed.
func hostsWell(q *Question, seed *gardencorev1beta1.Seed) string {
	chain, self := q.above(seed.Name), q.self()
	for i, name := range chain {
		if name == self {
			continue
		}
		host := q.Seed(name)
		if host == nil {
			return describeChain(chain[:i+1]) + ", which does not exist"
		}
		if why := gardenletReports(host); why != "" {
			return describeChain(chain[:i+1]) + ", which " + why
		}
	}
	return ""
}

// describeChain is the rest of a sentence that begins with a seed: its host, the host of that, and so on.
func describeChain(chain []string) string {
	text := ""
	for i, host := range chain {
		if i > 0 {
			text += ", which "
		}
		text += fmt.Sprintf("is hosted by %q", host)
	}
	return text
}
