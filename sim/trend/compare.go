package trend

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/transplant-sim/transplant/sim/verdict"
)

// Compared are the measures that may get worse; of all, less is better.
var Compared = []string{"rtoSeconds", "rpoSeconds", "apiDowntimeSeconds"}

// fewest earlier runs that say what is usual, where as many are to be looked at.
const fewest = 3

// scatter is how many standard deviations a run may be above the median. The deviation is estimated by the median
// absolute deviation, times 1.4826 for normally distributed values, which single wild runs do not move (Hampel's
// identifier).
const (
	scatter   = 3
	madToDevi = 1.4826
)

// Options of a comparison.
type Options struct {
	// Last is with how many earlier runs the newest is compared, at most.
	Last int
	// Tolerance is what part of the median a run may be above it in any case: 0.2 is a fifth.
	Tolerance float64
}

// Trend is what became of one measure of a scenario on a backend.
type Trend struct {
	Scenario string `json:"scenario"`
	Backend  string `json:"backend"`
	Measure  string `json:"measure"`
	// Newest is absent when the newest run has no such measure: what earlier runs had come back from may never have come
	// back.
	Newest *float64 `json:"newest,omitempty"`
	// Earlier is the number of runs that the newest is compared with. With too few there is neither median nor limit.
	Earlier int      `json:"earlier"`
	Median  *float64 `json:"median,omitempty"`
	// Limit above which the newest counts as worse: the median and the tolerance, or three deviations where that is more.
	Limit *float64 `json:"limit,omitempty"`
	Worse bool     `json:"worse"`
}

// Compare the newest run of every scenario and backend with those before it. A measure that enough earlier runs have,
// and the newest has not, is worse. Runs with the verdict Error or Inconclusive do not count: what they measured is not
// about the product.
func Compare(records []Record, o Options) []Trend {
	type kind struct{ scenario, backend string }
	runs := map[kind][]Record{}
	var order []kind
	for _, r := range records {
		if r.Verdict == verdict.Error || r.Verdict == verdict.Inconclusive {
			continue
		}
		k := kind{r.Scenario, r.Backend}
		if _, known := runs[k]; !known {
			order = append(order, k)
		}
		runs[k] = append(runs[k], r)
	}
	var all []Trend
	for _, k := range order {
		of := runs[k]
		newest := of[len(of)-1]
		for _, measure := range Compared {
			t := Trend{Scenario: k.scenario, Backend: k.backend, Measure: measure}
			if value, applies := newest.Measures[measure]; applies {
				t.Newest = &value
			}
			t.compare(valuesOf(of[:len(of)-1], measure, o.Last), o)
			if t.Newest != nil || t.Worse {
				all = append(all, t)
			}
		}
	}
	return all
}

// valuesOf a measure in the last runs that have it.
func valuesOf(runs []Record, measure string, last int) []float64 {
	var values []float64
	for _, r := range runs {
		if v, applies := r.Measures[measure]; applies {
			values = append(values, v)
		}
	}
	return values[max(0, len(values)-last):]
}

func (t *Trend) compare(earlier []float64, o Options) {
	t.Earlier = len(earlier)
	if t.Earlier < min(fewest, o.Last) {
		return
	}
	usual := median(earlier)
	apart := make([]float64, len(earlier))
	for i, v := range earlier {
		apart[i] = max(v-usual, usual-v)
	}
	limit := usual + max(o.Tolerance*usual, scatter*madToDevi*median(apart))
	t.Median, t.Limit, t.Worse = &usual, &limit, t.Newest == nil || *t.Newest > limit
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (stat.Quantile(0.5, stat.Empirical, sorted, nil) + sorted[len(sorted)/2]) / 2
}
