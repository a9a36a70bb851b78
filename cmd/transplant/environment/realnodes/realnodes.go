// Package realnodes gives shoots addresses of this machine whose nodes run pods. What runs there is in sim/nodes/real.
package realnodes

import (
	"fmt"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Shoots are those of a landscape whose nodes run pods.
type Shoots struct {
	names    []string       // in the order in which they get addresses
	seeds    map[string]int // those that are seeds, with their places among the seeds
	networks map[string]address.Cluster
}

// Of a landscape.
func Of(l landscape.Landscape) *Shoots {
	s := &Shoots{names: l.RealNodes(), seeds: map[string]int{}, networks: map[string]address.Cluster{}}
	for n, seed := range l.SeedNames() {
		if l.OnMachines(seed) {
			s.seeds[seed] = n
		}
	}
	return s
}

// Count is how many there are.
func (s *Shoots) Count() int {
	if s == nil {
		return 0
	}
	return len(s.names)
}

// Slices is how many slices of addresses they need. Seeds have theirs.
func (s *Shoots) Slices() int {
	if s == nil {
		return 0
	}
	return len(s.names) - len(s.seeds)
}

// CloudFlags are those by which load balancers get addresses that lead to the nodes.
func (s *Shoots) CloudFlags(l any) []string {
	on, can := l.(*embedded.Landscape)
	if s.Count() == 0 || !can {
		return nil
	}
	return []string{"--load-balancers=" + on.Slot().Balancers().String()}
}

// Flags are those by which the process of the machines runs their pods. They ask a DNS server for names. Shoots are
// called there by their technical ids.
func (s *Shoots) Flags(l any, dnsServer string, technicalID func(shoot string) string) ([]string, error) {
	if s.Count() == 0 {
		return nil, nil
	}
	on, can := l.(*embedded.Landscape)
	if !can {
		return nil, fmt.Errorf("run pods on the nodes of shoots %v: only the backend embedded does", s.names)
	}
	flags := append(s.CloudFlags(l), "--dns-server="+dnsServer)
	for _, image := range embedded.ImageFolders(on) {
		flags = append(flags, "--image="+image)
	}
	if err := s.Plan(on.Slot()); err != nil {
		return nil, err
	}
	for _, shoot := range s.names {
		flags = append(flags, fmt.Sprintf("--pods-run=%s=%s", technicalID(shoot), s.networks[shoot].Range()))
	}
	return flags, nil
}

// Plan gives the shoots addresses of a landscape.
func (s *Shoots) Plan(slot address.Slot) (err error) {
	own := 0
	for _, shoot := range s.names {
		if seed, is := s.seeds[shoot]; is {
			s.networks[shoot], err = slot.Cluster(1 + seed) // the first one is the garden's
		} else {
			s.networks[shoot], err = slot.Nodes(own)
			own++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Apply makes the nodes of a shoot run its pods. Machines, pods and Services have addresses of this machine.
func (s *Shoots) Apply(shoot *gardencorev1beta1.Shoot) error {
	if s.Count() == 0 || !s.networks[shoot.Name].Machines.IsValid() {
		return fmt.Errorf("run pods on the nodes of shoot %q: no addresses are set aside for it", shoot.Name)
	}
	plan := s.networks[shoot.Name]
	metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.Nodes, constants.NodesReal)
	for field, of := range map[**string]netip.Prefix{&shoot.Spec.Networking.Nodes: plan.Machines,
		&shoot.Spec.Networking.Pods: plan.Pods, &shoot.Spec.Networking.Services: plan.Services} {
		*field = ptr.To(of.String())
	}
	return nil
}
