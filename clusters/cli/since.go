package cli

import (
	"bytes"
	"io"
	"regexp"
	"time"
)

// moments are the forms of a line's time: of a container's log, of etcd's JSON, and of klog, which has no year and the
// time zone of the machine.
var moments = []struct {
	form   *regexp.Regexp
	layout string
}{
	{regexp.MustCompile(`^(\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)) `), time.RFC3339Nano},
	{regexp.MustCompile(`^\{"level":"\w+","ts":"([^"]+)"`), time.RFC3339Nano},
	{regexp.MustCompile(`^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d+) `), "0102 15:04:05.999999"},
}

// momentOf a line, or the zero time. A moment without a year is the last one before now.
func momentOf(line []byte, now time.Time) time.Time {
	for _, m := range moments {
		found := m.form.FindSubmatch(line)
		if found == nil {
			continue
		}
		at, err := time.ParseInLocation(m.layout, string(found[1]), now.Location())
		if err == nil && at.Year() == 0 {
			if at = at.AddDate(now.Year(), 0, 0); at.After(now.Add(24 * time.Hour)) {
				at = at.AddDate(-1, 0, 0)
			}
		}
		if err == nil {
			return at
		}
	}
	return time.Time{}
}

// newerLines passes lines on that are not older than a moment. A line without a time belongs to the one before it.
type newerLines struct {
	out     io.Writer
	since   time.Time
	passing bool
	begun   []byte // a line whose end is still to come
}

func newer(out io.Writer, since time.Time) *newerLines { return &newerLines{out: out, since: since} }

// Write passes whole lines on.
func (n *newerLines) Write(content []byte) (int, error) {
	n.begun = append(n.begun, content...)
	for {
		end := bytes.IndexByte(n.begun, '\n')
		if end < 0 {
			return len(content), nil
		}
		if err := n.pass(n.begun[:end+1]); err != nil {
			return 0, err
		}
		n.begun = n.begun[end+1:]
	}
}

func (n *newerLines) pass(line []byte) error {
	if at := momentOf(line, time.Now()); !at.IsZero() {
		n.passing = !at.Before(n.since)
	}
	if !n.passing {
		return nil
	}
	_, err := n.out.Write(line)
	return err
}

// Close passes on what a process has left of a line when it ended.
func (n *newerLines) Close() error {
	line := n.begun
	n.begun = nil
	return n.pass(line)
}
