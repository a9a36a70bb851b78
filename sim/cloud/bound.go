package cloud

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// maxEpochStep is by how much one write may raise an epoch. A take-over takes the next number of what the garden and
// DNS say (docs/ownership.md#o5). Each that was interrupted between its two writes, by a restart of the gardenlet or
// another binding, leaves the garden one ahead of DNS, which the cloud cannot see. Numbers must not run out: an epoch
// is an int64.
const maxEpochStep = 100

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

// isShoot says whether the garden has the shoot, or DNS had an owner of it.
func (v *view) isShoot(technicalID string) bool {
	_, bound := v.bound(technicalID)
	_, decided := v.decided(technicalID)
	return bound || decided
}

// checkRole refuses what no role of the caller allows, and whoever acts in the name of a shoot that its token is not
// good for.
func (c *call) checkRole() error {
	who := c.identity
	if !who.mayCall(c.verb, c.kind) {
		return unauthorized("%s may not %s %s", who.name, c.verb, c.kind)
	}
	if who.shoot != "" && c.scope.Shoot != "" && c.scope.Shoot != who.shoot {
		return unauthorized("%s may not act for '%s': its token is good for '%s' only", who.name, c.scope.Shoot, who.shoot)
	}
	return nil
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
		return refusal.StaleEpoch(c.scope, d.epoch)
	case c.scope.Epoch > v.epoch(c.scope.Shoot) && (!own || d.epoch < c.scope.Epoch):
		return unauthorized("%s may not act for '%s' with epoch %d: its owner record gives seed '%s' epoch %d",
			c.identity.name, c.scope.Shoot, c.scope.Epoch, d.seed, d.epoch)
	}
	return nil
}

// checkRights refuses a seed's token a change of what is another seed's. What is of no shoot at all is anybody's, but
// for buckets, backups and records, which checkRecord looks at. The roles say what others may.
func (v *view) checkRights(c *call, wanted change) error {
	switch {
	case c.identity.bucket != "":
		return checkBucket(c, wanted.id)
	case c.identity.seed == "" || c.kind == api.KindRecords:
		return nil
	case c.kind == api.KindObjects:
		return v.checkBackup(c, wanted.id)
	case c.kind == api.KindBuckets:
		if seed := v.seedOfBucket(wanted.id); seed != c.identity.seed {
			return unauthorized("%s may not %s the bucket '%s', which is seed '%s's", c.identity.name, c.verb, wanted.id, seed)
		}
		return nil
	}
	shoots := append(v.shootsOf(c.kind, wanted.before), v.shootsOf(c.kind, wanted.after)...)
	return v.checkShoots(c, cmp.Or(wanted.id, c.kind), append(shoots, c.scope.Shoot)...)
}

// checkShoots refuses a seed's token what is of a shoot that it is not good for. A confined one has to act for its
// shoot.
func (v *view) checkShoots(c *call, what string, shoots ...string) error {
	shoots = slices.DeleteFunc(shoots, func(shoot string) bool { return shoot == "" })
	for _, shoot := range shoots {
		if seed := v.seedOf(shoot); seed != c.identity.seed {
			return unauthorized("%s may not %s %s of '%s', which is seed '%s's", c.identity.name, c.verb, what, shoot, seed)
		}
	}
	another := func(shoot string) bool { return shoot != c.identity.shoot }
	if c.identity.shoot != "" && (len(shoots) == 0 || slices.ContainsFunc(shoots, another)) {
		return unauthorized("%s may not %s %s, which is of %q: its token is good for '%s' only", c.identity.name, c.verb,
			what, shoots, c.identity.shoot)
	}
	return nil
}

// seedOfBucket is the seed that the garden has given the name of a bucket to; empty if it has not.
func (v *view) seedOfBucket(name string) string {
	seed, _ := v.bound(api.BucketPolicy(name))
	return seed
}

// checkBucket refuses a token that is confined to a bucket every other one. The id is that of an object or a bucket.
func checkBucket(c *call, id string) error {
	if bucket, _, _ := strings.Cut(id, "/"); bucket != c.identity.bucket {
		return unauthorized("%s may not %s '%s': its token is good for the bucket '%s' only", c.identity.name, c.verb, id,
			c.identity.bucket)
	}
	return nil
}

// checkBackup lets a seed's token read and write what is in the bucket of its seed, and elsewhere what is of a shoot
// that is the seed's or that the policy binds to it: a new owner reads what it restores, and removes what its
// predecessor has left (docs/ownership.md#spec-9-3). The id is that of an object, or of a bucket with the prefix of a
// list: one that does not end the name of a folder is of no shoot.
func (v *view) checkBackup(c *call, id string) error {
	if c.identity.bucket != "" {
		return checkBucket(c, id)
	}
	if c.identity.seed == "" {
		return nil
	}
	bucket, key, _ := strings.Cut(id, "/")
	shoot := ""
	if folder, _, ended := strings.Cut(key, "/"); ended { // <technical id>--<uid> (docs/specification/api.md#spec-1-7)
		shoot = folder[:max(0, strings.LastIndex(folder, "--"))]
	}
	bound, _ := v.bound(shoot)
	of, decided := v.seedOfBucket(bucket), v.seedOf(shoot)
	if !slices.Contains([]string{of, bound, decided}, c.identity.seed) {
		return unauthorized("%s may not %s the object '%s': the bucket is seed '%s's, and the shoot seed '%s's",
			c.identity.name, c.verb, id, of, decided)
	}
	if confined := c.identity.shoot; confined != "" && shoot != confined {
		return unauthorized("%s may not %s the object '%s', which is of '%s': its token is good for '%s' only",
			c.identity.name, c.verb, id, shoot, confined)
	}
	return nil
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
	shoots = append(shoots, v.made[rowKey{kind, row.Metadata().ID}])
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

// checkRecord refuses a seed's token a record that is not of a shoot of the seed's, or an owner record unless the
// policy binds the shoot to the seed and a take-over would write it so. A record is of the shoot in whose names it is;
// if there is none, that is in its own domain, of the one in whose scope it was created. What would answer for the
// names of several shoots is no seed's. No seed removes an owner record (docs/adr/0005). after is nil for a removal.
func (v *view) checkRecord(c *call, zone *api.Zone, id, name string, after *api.RecordSet) error {
	if c.identity.seed == "" {
		return nil
	}
	labels := strings.Split(strings.TrimSuffix(name, "."+zone.Name), ".")
	n := len(labels)
	if name == zone.Name || n < 2 || slices.Contains(labels[n-2:], "*") {
		return unauthorized("%s may not write the record '%s': it is above the names of shoots", c.identity.name, name)
	}
	shoot := technicalID(labels[n-2], labels[n-1])
	if n == 3 && labels[0]+"." == ownerPrefix {
		return v.checkOwnerRecord(c, shoot, name, after)
	}
	if !c.identity.may(RoleProvider) {
		return unauthorized("%s may write owner records only, and not '%s'", c.identity.name, name)
	}
	if !v.isShoot(shoot) {
		shoot = c.scope.Shoot
		if made, there := v.made[rowKey{api.KindRecords, id}]; there {
			shoot = made
		}
	}
	if shoot == "" {
		return unauthorized("%s may not write the record '%s', which is of no shoot", c.identity.name, name)
	}
	return v.checkShoots(c, "the record '"+name+"'", shoot)
}

func (v *view) checkOwnerRecord(c *call, shoot, name string, after *api.RecordSet) error {
	if !c.identity.may(RoleGardenlet) {
		return unauthorized("%s may not write the owner record '%s': only a gardenlet may", c.identity.name, name)
	}
	if after == nil || after.Type != api.RecordTXT || len(after.Values) != 1 {
		return unauthorized("%s may not make anything of the owner record '%s' but one text, and not remove it",
			c.identity.name, name)
	}
	before, _ := v.decided(shoot)
	bound, _ := v.bound(shoot)
	wanted, ok := parseDecision(after.Values[0])
	switch {
	case c.identity.shoot != "" && c.identity.shoot != shoot:
		return unauthorized("%s may not write the owner record '%s': its token is good for '%s' only", c.identity.name,
			name, c.identity.shoot)
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
	return refusal.New(api.CodeUnauthorized, "UnauthorizedOperation", "You are not authorized to perform this operation: "+
		format, arguments...)
}
