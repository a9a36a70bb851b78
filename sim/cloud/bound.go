package cloud

import (
	"strconv"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// maxEpochStep is by how much one write may raise an epoch. A take-over takes the next number of what the garden and DNS say
// (SPEC 9.2, O5); each that fails between its two writes leaves the garden one ahead of DNS, which the cloud cannot see.
const maxEpochStep = 1000

// ownerPrefix begins the name of an owner record, before "<shoot>.<project>.<zone>" (SPEC 9.1).
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

// decided is the decision about a shoot, whichever zone it is in.
func (v *view) decided(shoot, project string) (decision, bool) {
	for _, row := range v.rows[api.KindZones] {
		zone := row.(*api.Zone)
		id := recordID(zone.ID, api.RecordTXT, ownerPrefix+shoot+"."+project+"."+zone.Name)
		if set, there := v.rows[api.KindRecords][id].(*api.RecordSet); there && len(set.Values) == 1 {
			return parseDecision(set.Values[0])
		}
	}
	return decision{}, false
}

// checkEpoch refuses a seed's token that would raise the epoch of a shoot, and so fence whoever has it, unless the decision
// gives the seed the shoot with that epoch, or a later one.
func (v *view) checkEpoch(c *call) error {
	if c.identity.seed == "" || c.scope.Epoch <= v.epoch(c.scope.Shoot) {
		return nil
	}
	project, shoot, _ := strings.Cut(strings.TrimPrefix(c.scope.Shoot, "shoot--"), "--")
	if d, known := v.decided(shoot, project); !known || d.seed != c.identity.seed || d.epoch < c.scope.Epoch {
		return unauthorized("%s may not act for '%s' with epoch %d: its owner record gives seed '%s' epoch %d",
			c.identity.name, c.scope.Shoot, c.scope.Epoch, d.seed, d.epoch)
	}
	return nil
}

// checkRecord refuses a seed's token that would write a record of a shoot that the decision gives to another seed, or an
// owner record that a take-over by the seed would not write. No seed removes an owner record (docs/adr/0005). after is nil
// for a removal.
func (v *view) checkRecord(c *call, zone *api.Zone, name string, after *api.RecordSet) error {
	labels := strings.Split(strings.TrimSuffix(name, "."+zone.Name), ".")
	if c.identity.seed == "" || len(labels) < 2 {
		return nil
	}
	shoot, project := labels[len(labels)-2], labels[len(labels)-1]
	before, known := v.decided(shoot, project)
	if len(labels) != 3 || labels[0]+"." != ownerPrefix {
		if known && before.seed != c.identity.seed {
			return unauthorized("%s may not write the record '%s': the shoot is seed '%s's", c.identity.name, name, before.seed)
		}
		return nil
	}
	if after == nil || after.Type != api.RecordTXT || len(after.Values) != 1 {
		return unauthorized("%s may not make anything of the owner record '%s' but one text, and not remove it", c.identity.name, name)
	}
	wanted, ok := parseDecision(after.Values[0])
	switch {
	case !ok || wanted.seed != c.identity.seed:
		return unauthorized("%s may name no seed but '%s' in the owner record '%s'", c.identity.name, c.identity.seed, name)
	case wanted.epoch <= before.epoch || wanted.epoch > before.epoch+maxEpochStep:
		return unauthorized("%s may not set the epoch of the owner record '%s' from %d to %d: want the next one",
			c.identity.name, name, before.epoch, wanted.epoch)
	}
	return nil
}

func unauthorized(format string, arguments ...any) *api.Error {
	return refuse(api.CodeUnauthorized, "UnauthorizedOperation", "You are not authorized to perform this operation: "+format, arguments...)
}
