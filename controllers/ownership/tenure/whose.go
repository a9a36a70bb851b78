package tenure

import "github.com/transplant-sim/transplant/controllers/ownership"

// Whose is the relation of one seed to the owner of a shoot, as its record in DNS names the owner.
type Whose int

const (
	// Unread: nobody has read the record yet.
	Unread Whose = iota
	// NeverOwned: there is no record.
	NeverOwned
	// Ours: the record names this seed in the epoch that it has noted.
	Ours
	// OursAnew: the record names this seed in another epoch.
	OursAnew
	// OthersBegun: the record names another seed. One that was built anew under the name of the owner is another. Nobody
	// looks yet whether it has begun.
	OthersBegun
	// OthersClaimed: the record names another seed, which has not begun. Nobody finds that out yet.
	OthersClaimed
	// Nobodys: the shoot was deleted by its last owner.
	Nobodys
	// Unreadable: DNS does not answer.
	Unreadable
)

// WhoseIs says whose the shoot is for the seed whose UID is self, and which has noted the epoch.
func WhoseIs(record ownership.Record, self string, epoch int64) Whose {
	switch {
	case record.Absent():
		return NeverOwned
	case record.Retired():
		return Nobodys
	case record.Names(self, epoch):
		return Ours
	case record.Owner == self:
		return OursAnew
	}
	return OthersBegun
}
