package cloud

import (
	"cmp"
	"strconv"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// maxEpochStep is by how much one write may raise an epoch. A take-over takes the next number of what the garden and
// DNS say (docs/ownership.md#o5); each that fails between its two writes leaves the garden one ahead of DNS, which the
// cloud cannot see.
const maxEpochStep = 1000

// tagShoot marks what is of a shoot, with its technical id.
const tagShoot = "transplant.dev/shoot"

// ownerPrefix begins the name of an owner record, before "<shoot>.<project>.<zone>" (docs/ownership.md#spec-9-1).
const ownerPrefix = "owner."

// decision is what an owner record says.
type decision struct {
	seed  string
	epoch int64
}

func parseDecision(text string) (d decision, ok bool) {
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "seed":
			d.seed = value
		case "epoch":
			d.epoch, _ = strconv.ParseInt(value, 10, 64) // what is no number is none
		}
	}
	return d, d.seed != "" && d.epoch > 0
}

// decided is the decision about a shoot: the one with the highest epoch, whichever zone it is in.
func (v *view) decided(technicalID string) (found decision, known bool) {
	shoot, project := partsOf(technicalID)
	for _, row := range v.rows[api.KindZones] {
		zone := row.(*api.Zone)
		id := recordID(zone.ID, api.RecordTXT, ownerPrefix+shoot+"."+project+"."+zone.Name)
		set, there := v.rows[api.KindRecords][id].(*api.RecordSet)
		if !there || len(set.Values) != 1 {
			continue
		}
		if d, ok := parseDecision(set.Values[0]); ok && d.epoch > found.epoch {
			found, known = d, true
		}
	}
	return found, known
}

// seedOf a shoot is the seed that may act for it: the one that DNS names or, before its first owner, the one that the
// policy binds it to. It is empty for a shoot of which neither is known.
func (v *view) seedOf(technicalID string) string {
	if d, known := v.decided(technicalID); known {
		return d.seed
	}
	seed, _ := v.bound(technicalID)
	return seed
}

// checkEpoch refuses a seed's token whose epoch another seed has superseded in DNS, or that would raise the epoch of
// a shoot, and so fence whoever has it, unless the decision gives the seed the shoot with that epoch, or a later one.
func (v *view) checkEpoch(c *call) error {
	if c.identity.seed == "" || c.scope.Epoch == 0 {
		return nil
	}
	d, known := v.decided(c.scope.Shoot)
	switch own := known && d.seed == c.identity.seed; {
	case known && !own && d.epoch > c.scope.Epoch:
		return staleEpoch(c.scope, d.epoch)
	case c.scope.Epoch > v.epoch(c.scope.Shoot) && (!own || d.epoch < c.scope.Epoch):
		return unauthorized("%s may not act for '%s' with epoch %d: its owner record gives seed '%s' epoch %d",
			c.identity.name, c.scope.Shoot, c.scope.Epoch, d.seed, d.epoch)
	}
	return nil
}

// checkRights refuses a seed's token a change of what is another seed's. What is of no shoot at all is anybody's, but
// for zones and buckets. Of records, checkRecord knows more.
func (s *Server) checkRights(c *call, wanted change) error {
	if c.identity.seed == "" {
		return nil
	}
	v, shoots := s.view(), []string{c.scope.Shoot}
	switch c.kind {
	case api.KindZones:
		return unauthorized("%s may not change DNS zones", c.identity.name)
	case api.KindBuckets:
		if maker := s.makerOf(c.kind, wanted.id); wanted.before != nil && maker != c.identity.seed {
			return unauthorized("%s may not change the bucket '%s', which is seed '%s's", c.identity.name, wanted.id, maker)
		}
	case api.KindObjects:
		return s.checkObject(c, v, wanted.id)
	case api.KindRecords:
	default:
		shoots = append(shoots, v.shootsOf(c.kind, wanted.before)...)
		shoots = append(shoots, v.shootsOf(c.kind, wanted.after)...)
	}
	for _, shoot := range shoots {
		if seed := v.seedOf(shoot); shoot != "" && seed != c.identity.seed {
			return unauthorized("%s may not %s %s of '%s', which is seed '%s's",
				c.identity.name, c.verb, cmp.Or(wanted.id, c.kind), shoot, seed)
		}
	}
	return nil
}

// checkObject lets a seed's token write into the bucket that the seed has made, and elsewhere what is of a shoot that
// is the seed's or that the policy binds to it: a new owner removes what its predecessor has left
// (docs/ownership.md#spec-9-3).
func (s *Server) checkObject(c *call, v *view, id string) error {
	bucket, key, _ := strings.Cut(id, "/")
	maker := s.makerOf(api.KindBuckets, bucket)
	if maker == c.identity.seed {
		return nil
	}
	folder, _, _ := strings.Cut(key, "/") // <technical id>--<uid> (docs/specification/api.md#spec-1-7)
	shoot := folder[:max(0, strings.LastIndex(folder, "--"))]
	bound, _ := v.bound(shoot)
	if seed := v.seedOf(shoot); c.identity.seed != seed && c.identity.seed != bound {
		return unauthorized("%s may not %s the object '%s': the bucket is seed '%s's, and the shoot seed '%s's",
			c.identity.name, c.verb, id, maker, seed)
	}
	return nil
}

// makerOf a row is the seed whose token created it; empty if no seed's did.
func (s *Server) makerOf(kind, id string) string {
	return s.identities.seedOf(s.state.made[rowKey{kind, id}].identity)
}

// shootsOf are the shoots that a row is of: that in whose scope it was created, that of its tag or its name, and
// those of what it is in or attached to.
func (v *view) shootsOf(kind string, row api.Resource) (shoots []string) {
	if row == nil {
		return nil
	}
	in := func(parents string, ids ...string) {
		for _, id := range ids {
			shoots = append(shoots, v.shootsOf(parents, v.rows[parents][id])...)
		}
	}
	shoots = append(shoots, v.made[rowKey{kind, row.Metadata().ID}].shoot)
	if tagged, is := row.(api.Tagged); is {
		shoots = append(shoots, tagged.TagMap()[tagShoot])
	}
	switch row := row.(type) {
	case *api.Subnet:
		in(api.KindNetworks, row.NetworkID)
	case *api.Router:
		in(api.KindNetworks, row.NetworkID)
	case *api.SecurityGroup:
		in(api.KindNetworks, row.NetworkID)
	case *api.Machine:
		in(api.KindSubnets, row.SubnetID)
		in(api.KindSecurityGroups, row.SecurityGroupIDs...)
	case *api.Volume:
		in(api.KindMachines, row.MachineID)
	case *api.KeyPair:
		if shoot, _ := partsOf(row.Name); shoot != "" {
			shoots = append(shoots, row.Name) // it is found by its name
		}
	}
	return shoots
}

// checkRecord refuses a seed's token that would write a record of a shoot that is another seed's, or an owner record
// unless the policy binds the shoot to the seed and a take-over would write it so. No seed removes an owner record
// (docs/adr/0005). after is nil for a removal.
func (v *view) checkRecord(c *call, zone *api.Zone, id, name string, after *api.RecordSet) error {
	if c.identity.seed == "" {
		return nil
	}
	labels := strings.Split(strings.TrimSuffix(name, "."+zone.Name), ".")
	shoot := ""
	if n := len(labels); n >= 2 {
		shoot = technicalID(labels[n-2], labels[n-1])
	}
	if len(labels) == 3 && labels[0]+"." == ownerPrefix {
		return v.checkOwnerRecord(c, shoot, name, after)
	}
	for _, shoot := range []string{shoot, v.made[rowKey{api.KindRecords, id}].shoot} {
		if seed := v.seedOf(shoot); seed != "" && seed != c.identity.seed {
			return unauthorized("%s may not write the record '%s': the shoot is seed '%s's", c.identity.name, name, seed)
		}
	}
	return nil
}

func (v *view) checkOwnerRecord(c *call, shoot, name string, after *api.RecordSet) error {
	if after == nil || after.Type != api.RecordTXT || len(after.Values) != 1 {
		return unauthorized("%s may not make anything of the owner record '%s' but one text, and not remove it",
			c.identity.name, name)
	}
	before, _ := v.decided(shoot)
	bound, _ := v.bound(shoot)
	wanted, ok := parseDecision(after.Values[0])
	switch {
	case !ok || wanted.seed != c.identity.seed:
		return unauthorized("%s may name no seed but '%s' in the owner record '%s'", c.identity.name, c.identity.seed, name)
	case bound != c.identity.seed:
		return unauthorized("%s may not write the owner record '%s': the garden has bound the shoot to seed '%s'",
			c.identity.name, name, bound)
	case wanted.epoch <= before.epoch || wanted.epoch > before.epoch+maxEpochStep:
		return unauthorized("%s may not set the epoch of the owner record '%s' from %d to %d: want the next one",
			c.identity.name, name, before.epoch, wanted.epoch)
	}
	return nil
}

func unauthorized(format string, arguments ...any) *api.Error {
	return refuse(api.CodeUnauthorized, "UnauthorizedOperation", "You are not authorized to perform this operation: "+
		format, arguments...)
}
