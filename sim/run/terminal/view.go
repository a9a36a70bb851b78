// Package terminal shows runs to the people at a terminal: what happens while it happens, and the verdict. How events
// read in words is for package wording to say, and pages for a browser are made by package report.
package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/wording"
)

// View shows a run while it goes on: one line for what matters and, in a terminal, a last line that says how things are
// right now.
type View struct {
	out    io.Writer
	styles styles
	live   bool
	now    wording.Present
	done   sync.WaitGroup

	shownAt time.Duration
	status  bool // a status line is on the screen
	// width of the terminal, which may change; 0 for none that is known. A line that wraps could not be cleared.
	width func() int
}

// styles of the view; without a terminal they do nothing.
type styles struct{ time, good, bad, quiet, bold lipgloss.Style }

func stylesFor(out io.Writer) styles {
	r := lipgloss.NewRenderer(out)
	return styles{
		time: r.NewStyle().Faint(true), quiet: r.NewStyle().Faint(true), bold: r.NewStyle().Bold(true),
		good: r.NewStyle().Foreground(lipgloss.Color("2")), bad: r.NewStyle().Foreground(lipgloss.Color("1")).Bold(true),
	}
}

// statusEvery is the least time between two changes of the status line.
const statusEvery = 200 * time.Millisecond

// Show shows a journal until it is closed.
func Show(ctx context.Context, out io.Writer, journal *timeline.Journal, s *scenario.Scenario) *View {
	v := &View{out: out, styles: stylesFor(out), live: isTerminal(out), now: wording.NewPresent(), width: widthOf(out)}
	fmt.Fprintf(out, "%s  %s\n", v.styles.bold.Render(s.Metadata.Name), v.styles.quiet.Render(s.Spec.Why))
	v.done.Go(func() {
		for e := range journal.Follow(context.WithoutCancel(ctx)) {
			v.event(e)
		}
		v.clear()
	})
	return v
}

func isTerminal(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

func widthOf(out io.Writer) func() int {
	return func() int {
		if file, is := out.(*os.File); is {
			if width, _, err := term.GetSize(int(file.Fd())); err == nil {
				return width
			}
		}
		return 0
	}
}

// Wait until everything has been shown.
func (v *View) Wait() { v.done.Wait() }

func (v *View) event(e timeline.Event) {
	v.now.Take(e)
	if text, mark := v.now.Line(e); text != "" {
		v.clear()
		fmt.Fprintf(v.out, "%s %s\n", v.styles.time.Render(fmt.Sprintf("%7.1fs", e.At.Seconds())), v.paint(mark, text))
	}
	if v.live && e.At-v.shownAt >= statusEvery {
		v.clear()
		line := v.styles.time.Render(fmt.Sprintf("%7.1fs", e.At.Seconds())) + " " + v.styles.quiet.Render(v.now.Status())
		if width := v.width(); width > 1 {
			line = ansi.Truncate(line, width-1, "…")
		}
		fmt.Fprint(v.out, line)
		v.shownAt, v.status = e.At, true
	}
}

// clear takes the status line off the screen.
func (v *View) clear() {
	if v.status {
		fmt.Fprint(v.out, "\r\x1b[2K")
		v.status = false
	}
}

func (v *View) paint(m wording.Mark, text string) string {
	switch m {
	case wording.Good:
		return v.styles.good.Render(text)
	case wording.Bad:
		return v.styles.bad.Render(text)
	case wording.Quiet:
		return v.styles.quiet.Render(text)
	}
	return text
}
