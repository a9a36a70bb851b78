package reference

import (
	"strings"
	"testing"
)

func TestWrap_LongLines_StayTheSameMarkdown(t *testing.T) {
	t.Parallel()
	long, rest := strings.Repeat("x", 110), strings.Repeat("y", 20)
	for name, c := range map[string]struct{ line, want string }{
		"fits":           {"a b", "a b"},
		"empty":          {"", ""},
		"prose":          {long + " " + rest + " z", long + "\n" + rest + " z"},
		"item":           {"- " + long + " " + rest, "- " + long + "\n  " + rest},
		"item of item":   {"  - " + long + " " + rest, "  - " + long + "\n    " + rest},
		"would be item":  {long + " abcdefghi - " + rest, long + " abcdefghi -\n" + rest},
		"would be list":  {long + " abcdefghi 2. " + rest, long + " abcdefghi 2.\n" + rest},
		"too long alone": {rest + " " + long + rest + " z", rest + "\n" + long + rest + "\nz"},
		"runes":          {strings.Repeat("–", 100) + " " + rest[:19], strings.Repeat("–", 100) + " " + rest[:19]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := wrap(c.line); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
