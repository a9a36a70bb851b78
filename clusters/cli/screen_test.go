package cli

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded"
)

// A line that changes stays on one line of the terminal, however narrow that has become; news is printed whole.
func TestLinesThatChangeFitTheTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	width := 200
	s := &screen{out: &out, width: func() int { return width }, tenth: map[string]int{}}
	building := embedded.Progress{Subject: "control-plane binary", What: "k8s.io/kubernetes/pkg/" + strings.Repeat("é",
		60), Done: 70, Total: 2100}
	for _, c := range []struct {
		width int
		want  string
	}{
		{200, "control-plane binary     3 %  70 of 2100  k8s.io/kubernetes/pkg/" + strings.Repeat("é", 38)},
		{80, "control-plane binary     3 %  70 of 2100  k8s.io/kubernetes/pkg/" + strings.Repeat("é", 15)},
		{30, "control-plane binary     3 % "},
		{1, ""},
	} {
		out.Reset()
		width = c.width
		s.show(building)
		if got := strings.TrimPrefix(out.String(), "\r\x1b[K"); got != c.want || len([]rune(got)) >= max(c.width, 1) {
			t.Errorf("width %d: %q, want %q", c.width, got, c.want)
		}
	}
	out.Reset()
	s.show(embedded.Progress{Subject: "garden", What: strings.Repeat("news ", 40)})
	if got, want := out.String(), "\ngarden                 "+strings.Repeat("news ", 40)+"\n"; got != want {
		t.Errorf("news: %q, want %q", got, want)
	}
}

// Where there is no terminal, long work prints every tenth of its way.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newScreen(&out)
	for done := range 101 {
		s.build(done, 100, "something")
	}
	if got := out.String(); strings.Count(got, "\n") != 10 || strings.Contains(got, "\r") || !strings.HasSuffix(got,
		"control-plane binary   100 %\n") {
		t.Errorf("it says %q", got)
	}
}
