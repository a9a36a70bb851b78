package timeline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/transplant-sim/transplant/api/userfile"
)

// FileName of a run's timeline in its folder.
const FileName = "timeline.jsonl"

// Format and Version stand in the first line of a timeline. A reader refuses other versions.
const (
	Format  = "transplant.dev/timeline"
	Version = 1
)

type header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Started time.Time `json:"started"`
}

// What a timeline may be at most; it is read into memory.
const (
	maxFile = 2 << 30
	maxLine = 64 << 20
)

// Record of a run as read from a file.
type Record struct {
	Started time.Time
	Events  []Event
	// Torn says that the last line was incomplete and has been left out: the writer was killed.
	Torn bool
}

// ReadFile reads a timeline.
func ReadFile(path string) (*Record, error) {
	file, err := userfile.Open(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("open the timeline: %w", err)
	}
	defer file.Close()
	record, err := Decode(file)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return record, nil
}

// Decode reads a timeline. A torn last line is left out; any other damage is an error that names the line.
func Decode(in io.Reader) (*Record, error) {
	lines := bufio.NewReader(in)
	record := &Record{}
	for number := 1; ; number++ {
		line, err := userfile.Line(lines, maxLine)
		complete := err == nil
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := record.take(number, line); err != nil {
				if !complete && number > 1 {
					record.Torn = true
					return record, nil
				}
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
		}
		if !complete {
			if number == 1 && record.Started.IsZero() {
				return nil, errors.New("line 1: the header is missing")
			}
			return record, nil
		}
	}
}

func (r *Record) take(number int, line []byte) error {
	if number == 1 {
		return r.takeHeader(line)
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.Seq != len(r.Events)+1 {
		return fmt.Errorf("event %d follows event %d", e.Seq, len(r.Events))
	}
	r.Events = append(r.Events, e)
	return nil
}

func (r *Record) takeHeader(line []byte) error {
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("not the header of a timeline: %w", err)
	}
	if h.Format != Format || h.Version != Version {
		return fmt.Errorf("format %q version %d: only %q version %d can be read", h.Format, h.Version, Format, Version)
	}
	r.Started = h.Started
	return nil
}
