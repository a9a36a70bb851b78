package selection

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// maxShards is more machines than anybody runs scenarios on at once.
const maxShards = 1000

// Shard is one of several parts of the scenarios that are selected, such as 2/5. The zero value is all of them.
type Shard struct{ part, of int }

// indexVariable is what Kubernetes gives to each pod of an Indexed Job, from 0.
const indexVariable = "JOB_COMPLETION_INDEX"

var errShard = fmt.Errorf("must be PART/PARTS, such as 2/5, with PART from 1 to PARTS, and at most %d PARTS; "+
	"index/5 takes the part from $%s", maxShards, indexVariable)

// Set reads a shard from its flag.
func (s *Shard) Set(text string) error {
	part, of, _ := strings.Cut(text, "/")
	if part == "index" {
		index, err := strconv.Atoi(os.Getenv(indexVariable))
		if err != nil {
			return fmt.Errorf("%w, which is %q", errShard, os.Getenv(indexVariable))
		}
		part = strconv.Itoa(index + 1)
	}
	var errs [2]error
	s.part, errs[0] = strconv.Atoi(part)
	s.of, errs[1] = strconv.Atoi(of)
	if errors.Join(errs[:]...) != nil || s.part < 1 || s.part > s.of || s.of > maxShards {
		return errShard
	}
	return nil
}

// String is the flag's value.
func (s *Shard) String() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.part, s.of)
}

// Type of the flag.
func (s *Shard) Type() string { return "PART/PARTS" }

// Choose the scenarios of this shard, in their order. Of as many shards of the same scenarios, with the same sample,
// each scenario is in exactly one; a sweep stays whole. The largest are dealt out first, each to the shard with the
// fewest runs so far, so that shards differ little.
func (s *Shard) Choose(all []*scenario.Scenario, sample int) ([]*scenario.Scenario, error) {
	if s.of == 0 {
		return all, nil
	}
	if s.of > len(all) {
		return nil, fmt.Errorf("--shard %s: must be of at most %d parts, the number of scenarios", s, len(all))
	}
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b *scenario.Scenario) int {
		return cmp.Or(cmp.Compare(runsOf(b, sample), runsOf(a, sample)), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	shards, runs := make([][]*scenario.Scenario, s.of), make([]int, s.of)
	for _, one := range order {
		least := slices.Index(runs, slices.Min(runs))
		shards[least] = append(shards[least], one)
		runs[least] += runsOf(one, sample)
	}
	mine := shards[s.part-1]
	others := func(one *scenario.Scenario) bool { return !slices.Contains(mine, one) }
	return slices.DeleteFunc(slices.Clone(all), others), nil
}

// runsOf a scenario: one, or as many as its sweep has points, of which a sample other than 0 is taken.
func runsOf(s *scenario.Scenario, sample int) int {
	points := 0
	for _, sweep := range s.Spec.Sweep {
		points += sweep.UpTo
	}
	if sample > 0 {
		points = min(points, sample)
	}
	return max(points, 1)
}
