package spelling_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/api/spelling"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"volume", "machine", "maximum", "seedLeaseRenew", "seedLossGracePeriod", strings.Repeat("x", 101)}
	for _, c := range []struct {
		wrong, want string
		most        int
	}{
		{"volumee", "volume", 1},
		{"Volume", "volume", 0},
		{"vloume", "", 1},
		{"vloume", "volume", 2},
		{"machin", "machine", 1},
		{"", "", 0},
		{"seedLossGrace", "seedLossGracePeriod", 6},
		{"seedLossGrace", "", 5},
		{"seedLeaseNew", "seedLeaseRenew", 6},
		{strings.Repeat("x", 101), "", 101},
	} {
		if got := spelling.Nearest(c.wrong, known, c.most); got != c.want {
			t.Errorf("Nearest(%.10q, most %d) = %q, want %q", c.wrong, c.most, got, c.want)
		}
	}
	if got := spelling.Likeliest("volumes", known); got != "volume" {
		t.Errorf("Likeliest is %q", got)
	}
	for wrong, want := range map[string]string{"machnie": "", "machien": "", "machinee": "machine", "MACHINE": "machine",
		"x": ""} {
		if got := spelling.Almost(wrong, known); got != want {
			t.Errorf("Almost(%q) is %q, want %q", wrong, got, want)
		}
	}
	if got := spelling.Likeliest("ponies", known); got != "" {
		t.Errorf("Likeliest of what nobody knows is %q", got)
	}
}
