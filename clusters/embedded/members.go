package embedded

import (
	"path/filepath"

	"github.com/transplant-sim/transplant/clusters/embedded/program"
)

// memberProgram is a member of the garden's etcd on the machine of a seed.
const memberProgram = "garden-etcd"

// planMembers has the garden's etcd run on the machines of the seeds that the options name, instead of the garden's
// own. Each member has the fate of its seed. The programs of the garden that keep nothing stay where they are.
func (o *Options) planMembers(all []*Cluster) {
	for _, c := range all {
		for _, seed := range o.GardenMembers {
			if c.name == seed {
				all[0].files.Members = append(all[0].files.Members, program.Member{Name: seed, Address: c.plan.Node})
			}
		}
	}
}

// attachMembers of the garden's etcd to their seeds.
func attachMembers(all []*Cluster) {
	garden := all[0].files
	for _, member := range garden.Members {
		for _, c := range all {
			if c.name == member.Name {
				attach(c, memberProgram, garden.EtcdMember(member, memberProgram, filepath.Join(c.files.Dir, memberProgram),
					c.files.Log(memberProgram)))
			}
		}
	}
}
