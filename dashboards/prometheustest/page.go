package prometheustest

import (
	"fmt"
	"strings"
)

// Page is Markdown that says what the panels of a board show.
type Page struct {
	uid  string
	text strings.Builder
}

// most is how many series of a query a page names.
const most = 12

// NewPage begins the page of a board. Of says which runs its answers are from.
func NewPage(uid, title, about, of string) *Page {
	p := &Page{uid: uid}
	fmt.Fprintf(&p.text, "# %s\n\n", title)
	p.paragraph(about)
	p.paragraph("What each panel shows. " + of + " Each series has its least, its last and its greatest value.")
	return p
}

// Name of the page's file.
func (p *Page) Name() string { return p.uid + ".md" }

func (p *Page) String() string { return strings.TrimRight(p.text.String(), "\n") + "\n" }

// Panel begins the part about a panel.
func (p *Page) Panel(title, about string) {
	fmt.Fprintf(&p.text, "## %s\n\n", title)
	p.paragraph(about)
}

// Answer of a query of the panel, with its series named as Grafana shows them. Of many series the first by name are
// there.
func (p *Page) Answer(legend string, found []Series) {
	lines := tableLines(legend, found)
	p.text.WriteString("| series | min | last | max |\n|---|---|---|---|\n")
	for _, line := range lines[:min(most, len(lines))] {
		p.text.WriteString(line + "\n")
	}
	p.text.WriteString("\n")
	if more := len(lines) - most; more > 0 {
		p.paragraph(fmt.Sprintf("And %d more.", more))
	}
}

// paragraph of Markdown, whose lines get at most 120 characters.
func (p *Page) paragraph(text string) {
	const width = 120
	for line := range strings.SplitSeq(text, "\n") {
		indent, column := "", 0
		if strings.HasPrefix(line, "- ") {
			indent = "  "
		}
		for _, word := range strings.Fields(line) {
			switch {
			case column > 0 && column+1+len(word) > width:
				p.text.WriteString("\n" + indent)
				column = len(indent)
			case column > 0:
				p.text.WriteString(" ")
				column++
			}
			p.text.WriteString(word)
			column += len(word)
		}
		p.text.WriteString("\n")
	}
	p.text.WriteString("\n")
}
