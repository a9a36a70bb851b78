package watches

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// Gone behaves as if the history had been compacted: open watches end with an error event 410, and so do watches
// that start at a resource version from before. Who lists again can watch again.
type Gone struct {
	Match kubeapi.Match `json:"match,omitzero"`
	Turn  requests.Turn `json:"turn,omitzero"`
}

var _ Fault = Gone{}

// Name is "GoneWatch(watches)".
func (g Gone) Name() string { return fmt.Sprintf("GoneWatch(%s)", g.Match) }

// Validate finds verbs, of which there is only one.
func (g Gone) Validate() error { return valid(g.Match, g.Turn) }

// Turns says which of the selected watches are hit.
func (g Gone) Turns() requests.Turn { return g.Turn }

// Start begins the fault on one link.
func (g Gone) Start() (requests.Effect, Effect) {
	past := &horizon{first: math.MaxUint64}
	return requests.Effect{
			Match: g.Match,
			Serve: func(_ *requests.Active, x *requests.Exchange, next func(*requests.Exchange)) { past.learn(x, next) },
		}, Effect{
			Watch: func(a *Active, s *Stream) {
				if past.before(s) && a.NextTurn() {
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
func (h *horizon) learn(x *requests.Exchange, next func(*requests.Exchange)) {
	if x.Request.Verb != kubeapi.VerbList {
		next(x)
		return
	}
	x.R.Header.Del("Accept-Encoding") // to be able to read it
	list := x.Keep(next)
	if objects := list.List(); objects != nil {
		h.mu.Lock()
		h.first = min(h.first, objects.Version())
		h.mu.Unlock()
	}
	list.Send(x.W)
}

// before says whether a watch needs history from before the horizon. One without a version starts with what is there.
func (h *horizon) before(s *Stream) bool {
	query := s.r.URL.Query()
	version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	opened := s.opened.Load() // one that runs has a version of its own by now
	if !opened && (err != nil || version == 0 || kubeapi.IsTrue(query.Get("sendInitialEvents"))) {
		return false
	}
	return opened || version < h.first
}

// goneEvent is the error event of an API server whose history does not reach back so far.
func goneEvent(contentType string) []byte {
	status := apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.").ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return kubeapi.ErrorEvent(&status, contentType)
}

// MarshalJSON writes the fault with its type.
func (g Gone) MarshalJSON() ([]byte, error) {
	type plain Gone
	return faultjson.Marshal("GoneWatch", plain(g))
}
