package worldtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// object is a Kubernetes object as JSON.
type object = map[string]any

// Store holds the objects of one API server. Stores can be copied to another server, as a backup is.
type Store struct {
	mu      sync.Mutex
	version int64
	objects map[string]object // by the path of the object
	changed chan struct{}
	log     []change
	// Compacted is the version below which no watch may begin.
	compacted int64
}

type change struct {
	version int64
	kind    string // ADDED, MODIFIED, DELETED
	path    string
	object  object
}

func newStore() *Store {
	return &Store{version: 1, objects: map[string]object{}, changed: make(chan struct{})}
}

// copyTo returns a store with the same objects, at a version that is higher by bump, but 1 at least, without the last
// writes.
func (s *Store) copyTo(bump int64, lose int) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := newStore()
	fresh.version = max(s.version+bump, fresh.version)
	fresh.compacted = fresh.version
	for path, o := range s.objects {
		fresh.objects[path] = clone(o)
	}
	for _, c := range slices.Backward(s.log) {
		if lose == 0 {
			break
		}
		if c.kind == "ADDED" && strings.Contains(c.path, "/configmaps/w-") {
			delete(fresh.objects, c.path)
			lose--
		}
	}
	return fresh
}

func clone(o object) object {
	content, _ := json.Marshal(o)
	var fresh object
	_ = json.Unmarshal(content, &fresh)
	return fresh
}

// put keeps an object under its path; nil deletes it.
func (s *Store) put(path string, o object) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	before, existed := s.objects[path]
	c := change{version: s.version, kind: "ADDED", path: path}
	switch {
	case o == nil:
		delete(s.objects, path)
		c.kind, c.object = "DELETED", clone(before)
	default:
		if existed {
			c.kind = "MODIFIED"
		}
		meta := metaOf(o)
		meta["resourceVersion"] = strconv.FormatInt(s.version, 10)
		if meta["uid"] == nil {
			meta["uid"] = fmt.Sprintf("uid-%d", s.version)
		}
		s.objects[path] = clone(o)
		c.object = clone(o)
	}
	if c.object != nil {
		metaOf(c.object)["resourceVersion"] = strconv.FormatInt(s.version, 10)
	}
	s.log = append(s.log, c)
	close(s.changed)
	s.changed = make(chan struct{})
	return c.object
}

func (s *Store) get(path string) (object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, found := s.objects[path]
	return clone(o), found
}

func metaOf(o object) object {
	meta, is := o["metadata"].(object)
	if !is {
		meta = object{}
		o["metadata"] = meta
	}
	return meta
}

// Server serves a store as an API server would.
type Server struct {
	*httptest.Server
	resources []resource

	mu    sync.Mutex
	store *Store
	down  bool
	reads map[string]int // of objects, by path
}

// resource is a type of objects that a server serves.
type resource struct {
	group, version, name, kind string
	namespaced                 bool
}

func (r resource) groupVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

func newServer(store *Store, resources ...resource) *Server {
	s := &Server{store: store, resources: resources, reads: map[string]int{}}
	s.Server = httptest.NewServer(s)
	return s
}

// Config to reach the server. It speaks JSON only.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func (s *Server) setDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.CloseClientConnections()
	}
}

// readsOf says how often an object was read.
func (s *Server) readsOf(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[path]
}

func (s *Server) state() (*Store, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store, s.down
}

// ServeHTTP answers, or breaks the connection while the server is down.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	store, down := s.state()
	if down {
		hangUp(w)
		return
	}
	if s.discover(w, r) {
		return
	}
	kind, collection, name := s.locate(r.URL.Path)
	switch {
	case kind == nil:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no such resource "+r.URL.Path)
	case r.Method == http.MethodGet && name == "" && r.URL.Query().Get("watch") != "":
		s.watch(w, r, store, kind, collection)
	case r.Method == http.MethodGet && name == "":
		s.list(w, r, store, kind, collection)
	case r.Method == http.MethodPost:
		s.create(w, r, store, kind, collection)
	default:
		s.one(w, r, store, kind, collection+"/"+name)
	}
}

func hangUp(w http.ResponseWriter) {
	if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = connection.Close()
	}
}

// locate finds what a path is about. An all-namespaces collection has an empty namespace in it.
func (s *Server) locate(path string) (kind *resource, collection, name string) {
	for i := range s.resources {
		r := &s.resources[i]
		prefix := "/apis/" + r.groupVersion()
		if r.group == "" {
			prefix = "/api/" + r.version
		}
		rest, mine := strings.CutPrefix(path, prefix+"/")
		if !mine {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(rest, "/status"), "/")
		base := prefix
		if r.namespaced && len(parts) > 2 && parts[0] == "namespaces" {
			base, parts = base+"/namespaces/"+parts[1], parts[2:]
		}
		if parts[0] != r.name || len(parts) > 2 {
			continue
		}
		if len(parts) == 2 {
			name = parts[1]
		}
		return r, base + "/" + r.name, name
	}
	return nil, "", ""
}

func (s *Server) one(w http.ResponseWriter, r *http.Request, store *Store, kind *resource, path string) {
	o, found := store.get(path)
	if !found {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", kind.name, path))
		return
	}
	switch r.Method {
	case http.MethodGet:
		answer(w, http.StatusOK, o)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads[path]++
	case http.MethodPatch:
		var patch object
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		if asked := metaOf(patch)["resourceVersion"]; asked != nil && asked != metaOf(o)["resourceVersion"] {
			fail(w, http.StatusConflict, metav1.StatusReasonConflict, path+" has been modified")
			return
		}
		merge(o, patch)
		answer(w, http.StatusOK, store.put(path, o))
	case http.MethodDelete:
		store.put(path, nil)
		answer(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		fail(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, r.Method)
	}
}

func merge(into, patch object) {
	for key, value := range patch {
		inner, isObject := value.(object)
		if existing, has := into[key].(object); isObject && has {
			merge(existing, inner)
		} else if value == nil {
			delete(into, key)
		} else {
			into[key] = value
		}
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, store *Store, kind *resource, collection string) {
	var o object
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	path := fmt.Sprintf("%s/%v", collection, metaOf(o)["name"])
	if _, exists := store.get(path); exists {
		fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, path+" already exists")
		return
	}
	o["kind"], o["apiVersion"] = kind.kind, kind.groupVersion()
	if _, inside, is := strings.Cut(collection, "/namespaces/"); is && kind.namespaced {
		metaOf(o)["namespace"], _, _ = strings.Cut(inside, "/")
	}
	if kind.name == "pods" {
		o["status"] = object{"phase": "Running"}
	}
	answer(w, http.StatusCreated, store.put(path, o))
}

// matches says whether a path is of a collection, and the object is what the request selects.
func matches(r *http.Request, kind *resource, collection, path string, o object) bool {
	if !inCollection(kind, collection, path) {
		return false
	}
	meta := metaOf(o)
	if text := r.URL.Query().Get("fieldSelector"); text != "" {
		selector, err := fields.ParseSelector(text)
		if err != nil || !selector.Matches(fields.Set{"metadata.name": fmt.Sprint(meta["name"])}) {
			return false
		}
	}
	if text := r.URL.Query().Get("labelSelector"); text != "" {
		set := labels.Set{}
		given, _ := meta["labels"].(object)
		for key, value := range given {
			set[key] = fmt.Sprint(value)
		}
		selector, err := labels.Parse(text)
		return err == nil && selector.Matches(set)
	}
	return true
}

func inCollection(kind *resource, collection, path string) bool {
	if rest, below := strings.CutPrefix(path, collection+"/"); below {
		return !strings.Contains(rest, "/")
	}
	prefix, _ := strings.CutSuffix(collection, "/"+kind.name)
	return kind.namespaced && !strings.Contains(prefix, "/namespaces/") && strings.HasPrefix(path,
		prefix+"/namespaces/") &&
		strings.Contains(path, "/"+kind.name+"/")
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, store *Store, kind *resource, collection string) {
	store.mu.Lock()
	defer store.mu.Unlock()
	items := []object{}
	for _, path := range slices.Sorted(maps.Keys(store.objects)) {
		if matches(r, kind, collection, path, store.objects[path]) {
			items = append(items, store.objects[path])
		}
	}
	answer(w, http.StatusOK, object{
		"kind": kind.kind + "List", "apiVersion": kind.groupVersion(), "items": items,
		"metadata": object{"resourceVersion": strconv.FormatInt(store.version, 10)},
	})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, store *Store, kind *resource, collection string) {
	from, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	store.mu.Lock()
	compacted := store.compacted
	store.mu.Unlock()
	if from < compacted {
		fail(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	next := 0
	for {
		store.mu.Lock()
		fresh, changed := store.log[next:], store.changed
		next = len(store.log)
		store.mu.Unlock()
		for _, c := range fresh {
			if c.version > from && matches(r, kind, collection, c.path, c.object) {
				_ = json.NewEncoder(w).Encode(object{"type": c.kind, "object": c.object})
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-time.After(50 * time.Millisecond): // notice that the server has been taken down, or its store replaced
			if now, down := s.state(); down || now != store {
				return
			}
		}
	}
}

func answer(w http.ResponseWriter, status int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o)
}

func fail(w http.ResponseWriter, status int, reason metav1.StatusReason, message string) {
	answer(w, status, object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": string(reason), "message": message,
		"code": status,
	})
}
