package landscape

import "slices"

// GardenBackup is the actor that backs the garden's etcd up.
const GardenBackup = "garden-backup"

// GardenSpec is what a scenario says about the garden.
type GardenSpec struct {
	// Backup is whether its etcd is backed up to a bucket, as those of shoots are, from which a garden that has lost its
	// disk is restored.
	Backup bool `json:"backup,omitempty"`
	// Members are seeds, three or five, on whose machines its etcd has a member each, which is lost and frozen with the
	// seed, and returns with it. When not given, its etcd is one, on the garden's own machine.
	Members []string `json:"members,omitempty"`
}

// Equal says whether both are the same.
func (g GardenSpec) Equal(other GardenSpec) bool {
	return g.Backup == other.Backup && slices.Equal(g.Members, other.Members)
}
