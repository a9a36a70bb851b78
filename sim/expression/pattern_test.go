package expression_test

import (
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/expression"
)

// A regular expression is checked with the file: it must be one, and must not cost much.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`shoot('a').seed.matches('^b-[0-9]+$')`:                                      "",
		`matches(shoot('a').seed, '^(a+)+$')`:                                        "",
		`shoot('a').seed.matches('(')`:                                               "must be a regular expression of RE2",
		`shoot('a').seed.matches('x{1001}')`:                                         "must be a regular expression of RE2",
		`shoot('a').seed.matches('((x{100}){100}){100}')`:                            "must be a regular expression of RE2",
		`shoot('a').seed.matches('` + strings.Repeat(`x{1000}`, 400) + `')`:          "has 2800 bytes; must have at most 256",
		`shoot('a').seed.matches(shoot('a').seed + '+')`:                             "takes a pattern in quotes",
		`['a'].exists(p, matches(shoot('a').seed, p))`:                               "takes a pattern in quotes",
		`shoot('a').healthy && seed('b').ready && 'x'.matches('[')`:                  "must be a regular expression of RE2",
		`'` + strings.Repeat("x", 5000) + `' == shoot('a').seed`:                     "longer than 4096 bytes",
		strings.Repeat("!", 4000) + `shoot('a').healthy`:                             "", // or refused: at once in any case
		strings.Repeat("(", 2000) + `shoot('a').healthy` + strings.Repeat(")", 2000): "",
	} {
		began := time.Now()
		e, err := expression.Compile(text)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: error %v, want %q", text, err, want)
		}
		if want == "" && err != nil && len(text) < 1000 {
			t.Errorf("%.60s: %v", text, err)
		}
		if err == nil {
			_, _, _ = e.Evaluate(expression.Snapshot{Shoots: map[string]expression.Shoot{"a": {Seed: strings.Repeat("a",
				10_000)}}})
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%.60s: took %s", text, took)
		}
	}
}

// What repeats itself more often than anybody needs ends by its cost.
func TestCostOfAnEvaluation(t *testing.T) {
	t.Parallel()
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 300), ",") + "]"
	text := list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c > 0))) && shoot('a').healthy"
	e, err := expression.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	met, why, err := e.Evaluate(expression.Snapshot{})
	if met || err == nil || !strings.Contains(why, "write a shorter condition") || time.Since(began) > time.Minute {
		t.Errorf("met %t, %s, %v, took %s", met, why, err, time.Since(began))
	}
}
