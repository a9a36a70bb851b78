package kubeapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"mime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Frames follows the events in the body of a watch, only to know where one ends: lines of JSON, or messages with their
// length in front.
type Frames struct {
	delimited bool // by length
	open      bool // in the middle of a line
	head      []byte
	left      int // of the message
}

// NewFrames follows a body of a content type.
func NewFrames(contentType string) *Frames {
	kind, _, _ := mime.ParseMediaType(contentType)
	return &Frames{delimited: kind == protobufType}
}

// Between says that no event has begun that has not ended.
func (f *Frames) Between() bool { return !f.open && len(f.head) == 0 && f.left == 0 }

// Advance takes bytes in up to the end of an event, and says how many.
func (f *Frames) Advance(p []byte) int {
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

// ErrorEvent is the event with which an API server ends a watch of a content type; nil where it cannot be written.
func ErrorEvent(status *metav1.Status, contentType string) []byte {
	if NewFrames(contentType).delimited {
		object, err := encodeStatus(status, protobufType)
		if err != nil {
			return nil
		}
		message, err := (&metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: object}}).Marshal()
		if err != nil {
			return nil
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
	}
	object, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	line, err := json.Marshal(&metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: object}})
	if err != nil {
		return nil
	}
	return append(line, '\n')
}
