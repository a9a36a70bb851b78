package explain

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// printer writes lines and remembers the first failure.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(format string, values ...any) {
	if p.err != nil {
		return
	}
	text := strings.TrimRight(fmt.Sprintf(format, values...), " ")
	if _, err := fmt.Fprintln(p.out, text); err != nil {
		p.err = fmt.Errorf("write the answer: %w", err)
	}
}

// stamp is a moment for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// short is a duration for people: days from two days on, no zero parts.
func short(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
