package expression_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/expression"
)

// What the compiler refuses is reported with what would be right.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`seed == 3`:          "column 1: undeclared reference to 'seed'; write seed('…'), with its name",
		`clod.machines == 1`: "column 1: undeclared reference to 'clod'; cloud has networks",
		`shoot('a').seed == 3`: "applied to '(string, int)'; both sides must be of one type: " +
			"a text stands in quotes, a number without",
		`shoot('a').epoch > '3'`:       "applied to '(int, string)'; both sides must be of one type: a text",
		`shoot('a').healthy == 'true'`: "applied to '(bool, string)'; both sides must be of one type",
		`shoot(3).healthy`:             "applied to '(int)'; it takes one name, such as shoot('…')",
		`!shoot('a').seed`:             "applied to '(string)'; ! needs what is true or false",
		`shoot('a').healthy && shoot('a').seed`: "expected type 'bool' but found 'string'; " +
			"both sides of && and || must be true or false",
		`shoot('a').healthy &&& true`: `column 22: Syntax error: token recognition error at: '& '; ` +
			`it stands at "&": and is &&`,
		`shoot('a').healthy = true`: `column 20: Syntax error: token recognition error at: '= '; ` +
			`it stands at "=": equality is ==`,
		`shoot('a').healthy and true`:                `; it stands at "and": and is &&`,
		`shoot('a').healthy )`:                       `; it stands at ")"`,
		`shoot('a').healthy &&`:                      "; the expression ends too early",
		"true &&\n  shoot('ä').healthy und x":        `; it stands at "und x"`,
		`shoot('a').answerTimes[0] > 75`:             "of one type: a time is written as duration('75ms')",
		`shoot('a').answerTimes[0] > duration('75')`: "; a time is written as duration('75ms')",
		`size(3) == 1`:                               "applied to '(int)'",
		`-shoot('a').seed < 3`:                       "applied to '(string)'",
	} {
		_, err := expression.Compile(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", text, err, want)
		}
	}
}
