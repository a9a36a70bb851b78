package selection

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
)

func TestShard_Flag_IsAPartOfParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Shard{"1/1": {1, 1}, "2/5": {2, 5}, "5/5": {5, 5}, "1/1000": {1, 1000}} {
		got := Shard{}
		if err := got.Set(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "/", "1", "1/", "/2", "0/3", "4/3", "-1/3", "1/0", "1/-3", "1/1001", "a/b", "1/2/3", "1 / 2", "1.5/2",
	} {
		if err := (&Shard{}).Set(text); err == nil || !strings.HasPrefix(err.Error(), "must be PART/PARTS, such as 2/5") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// In an Indexed Job each pod has its own part.
func TestShard_Index_IsThatOfTheJob(t *testing.T) {
	for index, want := range map[string]string{"0": "1/5", "4": "5/5"} {
		t.Setenv("JOB_COMPLETION_INDEX", index)
		got := Shard{}
		if err := got.Set("index/5"); err != nil || got.String() != want {
			t.Errorf("index %s: got %s, %v; want %s", index, &got, err, want)
		}
	}
	for _, index := range []string{"", "5", "-1", "x"} {
		t.Setenv("JOB_COMPLETION_INDEX", index)
		if err := (&Shard{}).Set("index/5"); err == nil || !strings.Contains(err.Error(), "$JOB_COMPLETION_INDEX") {
			t.Errorf("index %q: got %v", index, err)
		}
	}
}

// sized are scenarios with so many points in their sweeps, named by letters.
func sized(points ...int) []*scenario.Scenario {
	var all []*scenario.Scenario
	for i, n := range points {
		s := &scenario.Scenario{Metadata: scenario.Metadata{Name: string(rune('a' + i))}}
		if n > 0 {
			s.Spec.Sweep = []scenario.Sweep{{Fault: "dies", UpTo: n}}
		}
		all = append(all, s)
	}
	return all
}

func TestShard_Scenarios_AreInExactlyOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all    []*scenario.Scenario
		sample int
		shards []string
	}{
		"as many as parts":     {all: sized(0, 0), shards: []string{"a", "b"}},
		"one part":             {all: sized(0, 0, 0), shards: []string{"abc"}},
		"in turn":              {all: sized(0, 0, 0, 0, 0), shards: []string{"ad", "be", "c"}},
		"a sweep is many runs": {all: sized(0, 0, 4, 0, 0), shards: []string{"c", "abde"}},
		"of a sample fewer":    {all: sized(0, 0, 4, 0, 0), sample: 1, shards: []string{"ace", "bd"}},
		"two sweeps":           {all: sized(3, 0, 3, 0), shards: []string{"ab", "cd"}},
	} {
		for i, want := range c.shards {
			s := Shard{i + 1, len(c.shards)}
			chosen, err := s.Choose(c.all, c.sample)
			if got := names(chosen); err != nil || got != want {
				t.Errorf("%s, shard %s: got %q, %v; want %q", name, &s, got, err, want)
			}
			reversed := slices.Clone(c.all)
			slices.Reverse(reversed)
			other, err := s.Choose(reversed, c.sample)
			if err != nil || len(other) != len(chosen) || slices.ContainsFunc(other, func(one *scenario.Scenario) bool {
				return !slices.Contains(chosen, one)
			}) {
				t.Errorf("%s, shard %s: in another order it is %q, %v", name, &s, names(other), err)
			}
		}
	}
}

// However many there are, no shard has more than one scenario more than another.
func TestShard_EvenScenarios_AreBalanced(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 26; n++ {
		all := sized(make([]int, n)...)
		for of := 1; of <= n; of++ {
			seen := map[string]bool{}
			for part := 1; part <= of; part++ {
				chosen, err := (&Shard{part, of}).Choose(all, 0)
				if err != nil || len(chosen) < n/of || len(chosen) > n/of+1 {
					t.Fatalf("%d/%d of %d: %q, %v", part, of, n, names(chosen), err)
				}
				for _, one := range chosen {
					if seen[one.Metadata.Name] {
						t.Errorf("%d/%d of %d: %s is in two shards", part, of, n, one.Metadata.Name)
					}
					seen[one.Metadata.Name] = true
				}
			}
			if len(seen) != n {
				t.Errorf("%d shards of %d: %d are in one", of, n, len(seen))
			}
		}
	}
}

// A green run in which nothing happened is none.
func TestShard_MorePartsThanScenarios_IsRefused(t *testing.T) {
	t.Parallel()
	const want = "--shard 3/3: must be of at most 2 parts, the number of scenarios"
	if _, err := (&Shard{3, 3}).Choose(sized(0, 0), 0); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	all, err := (&Shard{}).Choose(sized(0, 0), 0)
	if got := fmt.Sprint(len(all)); err != nil || got != "2" {
		t.Errorf("without the flag: %s, %v", got, err)
	}
}

func names(of []*scenario.Scenario) string {
	text := ""
	for _, s := range of {
		text += s.Metadata.Name
	}
	return text
}
