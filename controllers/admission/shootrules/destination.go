package shootrules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// destinationFits asks the rules of placement about the seed that the shoot is bound to. A shoot whose move is called
// off stays where it is: nothing is asked.
func destinationFits(r *Request, g *garden) field.ErrorList {
	if !r.binds() || r.seedName() == r.source() {
		return nil
	}
	q := &placement.Question{Shoot: r.Shoot, Profile: g.profile, Seeds: g.seeds, Usage: g.usage, Hosts: g.hosts,
		Source: r.source()}
	seed := q.Seed(r.seedName())
	if seed == nil {
		return field.ErrorList{field.NotSupported(seedNamePath(), r.seedName(), fitting(q))}
	}
	var why []string
	if q.Source != "" && q.Seed(q.Source) == nil && !r.forced() {
		why = append(why, fmt.Sprintf(
			"cannot be compared with the source seed %q, which does not exist: only annotation %s=%s lets the shoot leave it",
			q.Source, constants.ShootForceRestore, constants.LabelTrue))
	}
	why = append(why, q.Misfits(seed)...)
	var errs field.ErrorList
	for i, reason := range why {
		if i == len(why)-1 {
			reason += "; " + hint(fitting(q))
		}
		errs = append(errs, field.Invalid(seedNamePath(), r.seedName(), "the seed "+reason))
	}
	return errs
}

// fitting are the seeds that would be let pass, in the order of the garden's list.
func fitting(q *placement.Question) []string {
	var names []string
	for i := range q.Seeds {
		if seed := &q.Seeds[i]; seed.Name != q.Source && len(q.Misfits(seed)) == 0 {
			names = append(names, seed.Name)
		}
	}
	return names
}

func hint(seeds []string) string {
	if len(seeds) == 0 {
		return "no seed fits"
	}
	return "seeds that fit: " + strings.Join(seeds, ", ")
}
