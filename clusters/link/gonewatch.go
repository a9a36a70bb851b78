package link

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// GoneWatch behaves as if the history had been compacted: open watches end with an error event 410, and so do watches
// that start at a resource version from before. Who lists again can watch again.
type GoneWatch struct {
	Match Match `json:"match,omitzero"`
	Turn  Turn  `json:"turn,omitzero"`
}

var _ Fault = GoneWatch{}

// Name is "GoneWatch(watches)".
func (g GoneWatch) Name() string { return fmt.Sprintf("GoneWatch(%s)", g.Match) }

// Validate finds verbs, of which there is only one.
func (g GoneWatch) Validate() error { return validWatch(g.Match, g.Turn) }

func (g GoneWatch) turn() Turn { return g.Turn }

func (g GoneWatch) start(dice) *effect {
	past := &horizon{first: math.MaxUint64}
	return &effect{
		match: g.Match,
		serve: func(a *active, x *exchange, next func(*exchange)) { past.learn(x, next) },
		watch: func(a *active, s *stream) {
			if past.before(s) && a.injection.turns.next() {
				s.endWith(a, goneEvent)
			}
		},
	}
}

// horizon is the resource version from which on watches are possible: that of the first list since the injection.
type horizon struct {
	mu    sync.Mutex
	first uint64
}

// learn looks at the lists that pass.
func (h *horizon) learn(x *exchange, next func(*exchange)) {
	if x.request.Verb != VerbList {
		next(x)
		return
	}
	x.r.Header.Del("Accept-Encoding") // to be able to read it
	list := x.keep(next)
	if objects := list.objects(); objects != nil {
		h.mu.Lock()
		h.first = min(h.first, objects.version())
		h.mu.Unlock()
	}
	list.send(x.w)
}

// before says whether a watch needs history from before the horizon. One without a version starts with what is there.
func (h *horizon) before(s *stream) bool {
	query := s.r.URL.Query()
	version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	opened := s.opened.Load() // one that runs has a version of its own by now
	if !opened && (err != nil || version == 0 || isTrue(query.Get("sendInitialEvents"))) {
		return false
	}
	return opened || version < h.first
}

// goneEvent is the error event of an API server whose history does not reach back so far.
func goneEvent(contentType string) []byte {
	status := apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.").ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	if newFrames(contentType).delimited {
		object, err := encodeStatus(&status, protobufType)
		if err != nil {
			return nil
		}
		message, err := (&metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: object}}).Marshal()
		if err != nil {
			return nil
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
	}
	object, err := json.Marshal(&status)
	if err != nil {
		return nil
	}
	line, err := json.Marshal(&metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: object}})
	if err != nil {
		return nil
	}
	return append(line, '\n')
}

// MarshalJSON writes the fault with its type.
func (g GoneWatch) MarshalJSON() ([]byte, error) {
	type plain GoneWatch
	return typed("GoneWatch", plain(g))
}
