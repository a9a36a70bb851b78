// Package tap sits in the links of an extension. It keeps what the extension writes to its seed and to the cloud, by
// the namespace of a shoot, and can refuse the writes for a namespace from some number on.
//
// It judges nothing: package contract does.
package tap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/contract"
)

// Tap is that of the extension of one seed. It is ready for use by several goroutines.
type Tap struct {
	mu     sync.Mutex
	spaces map[string]*space
	owners map[string]string // namespaces, by the names of what is in none
}

// space is what was seen of a namespace.
type space struct {
	resource string // of the extension object, such as networks
	writes   []contract.Write
	toCloud  int // requests, also those that only read
	gate     *Gate
	refused  bool              // by the cloud
	relents  bool              // refused while a restore is in work, and not else
	last     contract.Snapshot // of the extension object, when it was last written
}

// Gate lets a number of writes be carried out and refuses the next.
type Gate struct {
	tap     *Tap
	passes  int
	passed  int // were carried out
	inWork  int // may still be carried out or fail
	refused int // since the last that failed
}

// New makes a tap that keeps nothing yet.
func New() *Tap { return &Tap{spaces: map[string]*space{}, owners: map[string]string{}} }

// Watch keeps from now on what is written for a namespace. The resource is that of its extension object, in the plural.
// If that object is in no namespace, it has this name, as has what stands for it in the cloud; else there is none.
func (t *Tap) Watch(namespace, resource, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spaces[namespace] = &space{resource: resource}
	if name != "" {
		t.owners[name] = namespace
	}
}

// ownerOf is the namespace that something in none belongs to, if it has one of the names.
func (t *Tap) ownerOf(names ...string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		if namespace := t.owners[name]; namespace != "" {
			return namespace
		}
	}
	return ""
}

// Since returns the writes for a namespace from a number on, and how many requests for it have gone to the cloud.
func (t *Tap) Since(namespace string, from int) (writes []contract.Write, toCloud int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.spaces[namespace]
	if s == nil {
		return nil, 0
	}
	return slices.Clone(s.writes[min(from, len(s.writes)):]), s.toCloud
}

// Limit lets so many further writes of a namespace that is watched be carried out. A write that fails is none of them.
func (t *Tap) Limit(namespace string, passes int) *Gate {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := &Gate{tap: t, passes: passes}
	t.spaces[namespace].gate = g
	return g
}

// Open lets all writes pass again.
func (t *Tap) Open() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spaces {
		s.gate = nil
	}
}

// Refuse says whether the cloud answers all requests for a namespace that it does not know the credentials.
func (t *Tap) Refuse(namespace string, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spaces[namespace].refused, t.spaces[namespace].relents = refused, false
}

// Relent lets the cloud refuse requests for a namespace only while the object says that a restore is in work: one that
// has begun before a deletion was asked for, and succeeds, would leave no error to delete from.
func (t *Tap) Relent(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spaces[namespace].relents = true
}

// Pass lets all writes of a namespace pass again.
func (t *Tap) Pass(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spaces[namespace].gate = nil
}

// Counts are how many writes were carried out, and how many were refused after the last of them.
func (g *Gate) Counts() (passed, refused int) {
	g.tap.mu.Lock()
	defer g.tap.mu.Unlock()
	if g.inWork > 0 { // those refused meanwhile may pass if it fails
		return g.passed, 0
	}
	return g.passed, g.refused
}

// admit says whether a write may pass. Its end must be reported.
func (t *Tap) admit(namespace string) (may bool, end func(took bool)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.spaces[namespace]
	if s == nil || s.gate == nil {
		return true, func(bool) {}
	}
	g := s.gate
	if g.passed+g.inWork >= g.passes {
		g.refused++
		return false, nil
	}
	g.inWork++
	return true, func(took bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		g.inWork--
		if took {
			g.passed++
		} else {
			g.refused = 0
		}
	}
}

// keep what was written.
func (t *Tap) keep(namespace string, w contract.Write, answer []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.spaces[namespace]
	if s == nil {
		return
	}
	w.Own = !w.Cloud && w.Resource == s.resource+"."+extensionsv1alpha1.GroupName && w.Name != ""
	switch {
	case !w.Took:
	case w.Own:
		object := map[string]any{}
		if json.Unmarshal(answer, &object) == nil && object["metadata"] != nil {
			w.After = new(contract.Look(object))
			s.last = *w.After
		}
	case !w.Cloud && w.Resource == "secrets":
		lookAtSecret(&w, answer)
	}
	s.writes = append(s.writes, w)
}

// lookAtSecret adds to a write what its answer has of the Secret, in JSON or protobuf. A deletion may have none.
func lookAtSecret(w *contract.Write, answer []byte) {
	kind := corev1.SchemeGroupVersion.WithKind("Secret")
	object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(answer, &kind, &corev1.Secret{})
	secret, is := object.(*corev1.Secret)
	if err != nil || !is || secret.Name == "" {
		return
	}
	w.Name = secret.Name // a request to create one does not have it
	w.After = &contract.Snapshot{Finalizers: secret.Finalizers, Deleting: secret.DeletionTimestamp != nil}
	secret.Finalizers, secret.ResourceVersion, secret.ManagedFields = nil, "", nil
	if content, err := json.Marshal(secret); err == nil {
		sum := sha256.Sum256(content)
		w.Content = hex.EncodeToString(sum[:])
	}
}

// ToAPI and ToCloud are the tap in a link to the seed, and in one to the cloud. To a link they are faults, which harm
// nothing but what a limit refuses.
type (
	ToAPI   struct{ *Tap }
	ToCloud struct{ *Tap }
)

var (
	_ requests.Fault = ToAPI{}
	_ requests.Fault = ToCloud{}
)

// Name implements requests.Fault.
func (ToAPI) Name() string { return "contract(API)" }

// Validate implements requests.Fault.
func (ToAPI) Validate() error { return nil }

// Start implements requests.Fault.
func (t ToAPI) Start() requests.Effect {
	return requests.Effect{Writes: true, Intended: true, Serve: t.serve}
}

func (t ToAPI) serve(_ *requests.Active, x *requests.Exchange, next func(*requests.Exchange)) {
	q := x.Request
	w := contract.Write{Verb: q.Verb, Resource: q.Resource, Subresource: q.Subresource, Namespace: q.Namespace,
		Name: q.Name}
	if q.Group != "core" {
		w.Resource += "." + q.Group
	}
	namespace := q.Namespace
	if namespace == "" && q.Group == extensionsv1alpha1.GroupName {
		namespace = t.ownerOf(q.Name)
	}
	t.through(namespace, w, x, next)
}

// Name implements requests.Fault.
func (ToCloud) Name() string { return "contract(cloud)" }

// Validate implements requests.Fault.
func (ToCloud) Validate() error { return nil }

// Start implements requests.Fault.
func (t ToCloud) Start() requests.Effect {
	return requests.Effect{Serve: t.serve}
}

func (t ToCloud) serve(_ *requests.Active, x *requests.Exchange, next func(*requests.Exchange)) {
	namespace := x.R.Header.Get(cloud.HeaderShoot)
	if namespace == "" {
		namespace = t.ownerOf(strings.Split(x.R.URL.Path, "/")...)
	}
	t.mu.Lock()
	refused := false
	if s := t.spaces[namespace]; s != nil {
		s.toCloud++
		refused = s.refused && (!s.relents || s.last.Restores())
	}
	t.mu.Unlock()
	if refused {
		x.W.Header().Set("Content-Type", "application/json")
		x.W.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(x.W).Encode(&cloud.Error{Code: cloud.CodeUnauthenticated, Reason: "InvalidCredentials",
			Message: "The credentials are not known."}) // who does not wait for the answer does not get it
		return
	}
	if x.R.Method == http.MethodGet || x.R.Method == http.MethodHead {
		next(x)
		return
	}
	t.through(namespace, contract.Write{Cloud: true, Verb: strings.ToLower(x.R.Method), Resource: x.R.URL.Path,
		Namespace: namespace}, x, next)
}

// through lets a write pass and keeps it, or breaks it off.
func (t *Tap) through(namespace string, w contract.Write, x *requests.Exchange, next func(*requests.Exchange)) {
	may, end := t.admit(namespace)
	if !may {
		panic(http.ErrAbortHandler) // ends the request without an answer, and no other of the connection
	}
	defer func() { end(w.Took) }()
	answer := &heard{ResponseWriter: x.W}
	next(&requests.Exchange{W: answer, R: x.R, Request: x.Request, Bare: x.Bare})
	w.Took = answer.status >= http.StatusOK && answer.status < http.StatusMultipleChoices
	t.keep(namespace, w, answer.body.Bytes())
}

// heard is an answer that is passed on and kept.
type heard struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader passes the status on.
func (h *heard) WriteHeader(status int) {
	if h.status == 0 && status >= http.StatusOK {
		h.status = status
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write passes a part of the body on.
func (h *heard) Write(p []byte) (int, error) {
	if h.status == 0 {
		h.status = http.StatusOK
	}
	h.body.Write(p)
	return h.ResponseWriter.Write(p)
}

// FlushError flushes the answer.
func (h *heard) FlushError() error {
	flusher, can := h.ResponseWriter.(interface{ FlushError() error })
	if !can {
		return errors.ErrUnsupported
	}
	return flusher.FlushError()
}

// Unwrap is for http.ResponseController.
func (h *heard) Unwrap() http.ResponseWriter { return h.ResponseWriter }
