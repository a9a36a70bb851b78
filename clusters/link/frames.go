package link

import (
	"bytes"
	"encoding/binary"
	"mime"
)

// frames follows the events in the body of a watch, only to know where one ends: lines of JSON, or messages with their
// length in front.
type frames struct {
	delimited bool // by length
	open      bool // in the middle of a line
	head      []byte
	left      int // of the message
}

func newFrames(contentType string) *frames {
	kind, _, _ := mime.ParseMediaType(contentType)
	return &frames{delimited: kind == protobufType}
}

// between says that no event has begun that has not ended.
func (f *frames) between() bool { return !f.open && len(f.head) == 0 && f.left == 0 }

// advance takes bytes in up to the end of an event, and says how many.
func (f *frames) advance(p []byte) int {
	if !f.delimited {
		n := bytes.IndexByte(p, '\n') + 1
		if f.open = n == 0 && len(p) > 0; f.open {
			return len(p)
		}
		return n
	}
	taken := 0
	for taken < len(p) {
		if f.left == 0 {
			f.head = append(f.head, p[taken])
			taken++
			if len(f.head) < 4 {
				continue
			}
			f.left, f.head = int(binary.BigEndian.Uint32(f.head)), nil
		}
		n := min(f.left, len(p)-taken)
		taken, f.left = taken+n, f.left-n
		if f.left == 0 {
			return taken
		}
	}
	return taken
}
