package scenario_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// The message names the place of the mistake, not where the parser had begun, and says what to do about it.
func TestSyntax_WhatIsNoYAML_IsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	const (
		flow  = "  - migrate: {shoot: alpha, to: b}\n"
		steps = "  steps:\n"
		why   = "why: it is\n"
	)
	for name, c := range map[string]struct{ old, new, want string }{
		"one space too deep": {steps, " " + steps,
			"f:13:4: not YAML: did not find expected key; check the indentation of line 13: it must be that of the lines " +
				"beside it"},
		"one space too few": {steps, steps[1:],
			"f:13:2: not YAML: did not find expected key; check the indentation of line 13"},
		"an item too deep": {flow, " " + flow,
			"f:15:4: not YAML: did not find expected key; check the indentation of line 15"},
		"an item too far left": {flow, flow[1:],
			"f:15:2: not YAML: did not find expected key; check the indentation of line 15"},
		"a field below a value": {why, why + "    so: much\n",
			"f:7:7: not YAML: mapping values are not allowed in this context; check the indentation of line 7, and above it " +
				"for a key without its colon and a quote without its end"},
		"no colon before a key": {"why: it is", "why it is",
			"f:7:12: not YAML: mapping values are not allowed in this context; check the indentation of line 7, and above it " +
				"for a key without its colon"},
		"the first line too deep": {"apiVersion:", "   apiVersion:",
			"f:2:1: not YAML: did not find expected <document start>; check the indentation of line 2"},
		"a tab before a key": {"  why:", "\twhy:",
			"f:6:1: not YAML: found character that cannot start any token; indent with spaces: line 6 has a tab"},
		"a tab before an item": {flow, "\t" + flow[2:],
			"f:15:1: not YAML: found character that cannot start any token; indent with spaces: line 15 has a tab"},
		"a tab in a text": {why, "why: it\n\tis\n",
			"f:7:1: not YAML: found a tab character that violates indentation; indent with spaces: line 7 has a tab"},
		"a colon in a text": {why, "why: it is: so\n",
			`f:6:13: not YAML: mapping values are not allowed in this context; put a text with a colon in it in quotes, such ` +
				`as "a: b"`},
		"no colon": {"kind: Scenario", "kind Scenario",
			"f:2:1: not YAML: could not find expected ':'; a key has a colon and a space after it"},
		"a brace left open": {"to: b}\n", "to: b\n",
			`f:15:14: not YAML: did not find expected ',' or '}'; the "{" here is not closed before line 16, column 10`},
		"a bracket left open": {"{name: b}]\n", "{name: b}\n",
			`f:8:12: not YAML: did not find expected ',' or ']'; the "[" here is not closed before line 9, column 5`},
		"a brace too many": {"to: b}\n", "to: b}}\n",
			"f:15:35: not YAML: did not find expected key; nothing may follow a value that ends with a quote or a bracket: " +
				"put the whole text in quotes, or leave this out"},
		"no comma": {"a, hibernated", "'a' hibernated",
			`f:11:32: not YAML: did not find expected ',' or '}'; put a comma before it, or close the "{" of line 11, column 7`},
		"a bracket to the end": {"always: [SingleWriter]\n  measure: {apiDowntime: {max: 20s}, rpo: {max: 2s}}\n",
			"always: [SingleWriter,\n",
			"f:20:24: not YAML: did not find expected node content; a bracket is left open: close it"},
		"a quote to the end": {why, "why: \"it is\n",
			`f:17:56: not YAML: mapping values are not allowed in this context; put a text with a colon in it in quotes, ` +
				`such as "a: b", and end every quote above it`},
		"a quote that never ends": {"rpo: {max: 2s}}", "rpo: {max: '2s}}",
			"f:21:49: not YAML: found unexpected end of stream; the quote here does not end"},
		"a quote in quotes": {why, "why: 'it's so'\n",
			"f:6:12: not YAML: did not find expected key; nothing may follow a value that ends with a quote"},
		"an escape of no kind": {why, "why: \"it \\is\"\n",
			`f:6:12: not YAML: found unknown escape character; put a text with \ in it in single quotes`},
		"an unknown anchor": {"to: b", "to: *b",
			"f:15:33: not YAML: unknown anchor 'b' referenced; write the value out, or put a text that begins with * in quotes"},
		"no name of an anchor": {"to: b", "to: *",
			"f:15:33: not YAML: did not find expected alphabetic or numeric character; put a text that begins with * in quotes"},
		"an unknown tag": {why, "why: !it!is so\n",
			"f:6:8: not YAML: found undefined tag handle; put a text that begins with ! in quotes"},
		"a reserved character": {why, "why: @it\n",
			"f:6:8: not YAML: found character that cannot start any token; put a text that begins with @ in quotes"},
		"a list behind its key": {why, "why: - it\n",
			"f:6:8: not YAML: block sequence entries are not allowed in this context; begin the list on a line of its own, " +
				"or put the text in quotes"},
		"a control character": {why, "why: it \x01 is\n",
			"f:6:11: not YAML: control characters are not allowed; leave it out"},
		"no UTF-8": {why, "why: it \xff is\n",
			"f:6:11: not YAML: invalid leading UTF-8 octet; write the file in UTF-8"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(right, c.old, c.new, 1)
			if text == right {
				t.Fatal("the text was not changed")
			}
			_, err := scenario.Parse("f", []byte(text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}
