package tenure

import "github.com/transplant-sim/transplant/controllers/ownership"

// Whose is the relation of one seed to the owner of a shoot, as its record in DNS names the owner. The zero Whose is
// none: the record was not read.
type Whose int

const (
	// NeverOwned: there is no record.
	NeverOwned Whose = iota + 1
	// Ours: the record names this seed, in whatever epoch.
	Ours
	// Others: the record names another seed. One that was built anew under the name of the owner is another.
	Others
	// Nobodys: the shoot was deleted by its last owner.
	Nobodys
)

// WhoseIs says whose the shoot is for the seed whose UID is self.
func WhoseIs(record ownership.Record, self string) Whose {
	switch {
	case record.Absent():
		return NeverOwned
	case record.Retired():
		return Nobodys
	case record.Owner == self:
		return Ours
	}
	return Others
}
