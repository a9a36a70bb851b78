package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/transplant-sim/transplant/clusters/embedded"
)

// screen shows progress: one line of news each, and long work as one line that changes, where the output is a terminal.
// Elsewhere long work prints every tenth of its way.
type screen struct {
	out   io.Writer
	width func() int // of the terminal now; nil where there is none
	open  bool       // a line that changes is being shown
	tenth map[string]int
}

// usualWidth is that of a terminal that does not report its own.
const usualWidth = 80

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, tenth: map[string]int{}}
	if file, isFile := out.(*os.File); isFile && term.IsTerminal(int(file.Fd())) {
		s.width = func() int {
			if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
				return width
			}
			return usualWidth
		}
	}
	return s
}

// clearLine returns to the beginning of the line and empties it.
const clearLine = "\r\x1b[K"

func (s *screen) show(p embedded.Progress) {
	switch {
	case p.Total == 0:
		s.done()
		fmt.Fprintf(s.out, "%-22s %s\n", p.Subject, p.What)
	case s.width != nil:
		s.open = true
		line := fmt.Sprintf("%-22s %3d %%  %d of %d  %.60s", p.Subject, 100*p.Done/p.Total, p.Done, p.Total, p.What)
		// One that wraps cannot be taken back. A terminal may wrap already when the last column is written.
		fmt.Fprintf(s.out, "%s%.*s", clearLine, s.width()-1, line)
	default:
		if tenth := 10 * p.Done / p.Total; tenth > s.tenth[p.Subject] {
			s.tenth[p.Subject] = tenth
			fmt.Fprintf(s.out, "%-22s %d %%\n", p.Subject, 10*tenth)
		}
	}
}

// done leaves a line that changes as it is.
func (s *screen) done() {
	if s.open {
		fmt.Fprintln(s.out)
		s.open = false
	}
}

// build shows the progress of a build.
func (s *screen) build(done, total int, what string) {
	s.show(embedded.Progress{Subject: "control-plane binary", What: what, Done: done, Total: total})
}
