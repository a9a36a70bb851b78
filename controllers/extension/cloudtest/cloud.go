// Package cloudtest is a small cloud for tests of controllers: an HTTP server in the test's process that keeps what it
// gets, answers like the cloud's API, and writes every mutating call into a ledger. It checks only what controllers
// lean on: tokens, tags, versions, dependencies, epochs. The simulated cloud of the landscape is another one.
package cloudtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
)

// Call is a mutating call that took effect.
type Call struct {
	Verb, Kind, ID, Shoot string
	Epoch                 int64
}

// Cloud is the server. Its zero value is not useful; see New.
type Cloud struct {
	URL string

	mu      sync.Mutex
	next    int
	objects map[string]map[string]object // by kind and id
	order   []string
	tokens  map[string]string // id by token
	fences  map[string]int64
	ledger  []Call
	refuse  func(verb, kind string) *cloud.Error
	lose    func(verb, kind string) bool
}

type object map[string]any

// New starts a cloud that ends with the test.
func New(t *testing.T) *Cloud {
	t.Helper()
	c := &Cloud{objects: map[string]map[string]object{}, tokens: map[string]string{}, fences: map[string]int64{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// NewLandscape starts a cloud that has the DNS zone and the bucket of a landscape.
func NewLandscape(t *testing.T) *Cloud {
	t.Helper()
	c := New(t)
	direct := c.Client(t)
	if _, err := direct.Zones().Create(t.Context(), &cloud.Zone{Name: "shoots.test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := direct.Buckets().Create(t.Context(), &cloud.Bucket{Name: "bucket-a"}); err != nil {
		t.Fatal(err)
	}
	return c
}

// Config is how a client reaches the cloud.
func (c *Cloud) Config() *rest.Config { return &rest.Config{Host: c.URL} }

// Client is a client that nothing guards.
func (c *Cloud) Client(t *testing.T) *cloud.Client {
	t.Helper()
	client, err := cloud.New(c.Config(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Ledger is a copy of all calls that took effect so far.
func (c *Cloud) Ledger() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ledger)
}

// IDs are the ids of all objects of the kinds, sorted; of all kinds if none is named.
func (c *Cloud) IDs(kinds ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for kind, objects := range c.objects {
		if len(kinds) > 0 && !slices.Contains(kinds, kind) {
			continue
		}
		for id := range objects {
			ids = append(ids, kind+"/"+id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Refuse lets calls fail for which the function gives an error; nil ends that.
func (c *Cloud) Refuse(refuse func(verb, kind string) *cloud.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = refuse
}

// LoseAnswers breaks the connection after calls have taken effect for which the function says so; nil ends that.
func (c *Cloud) LoseAnswers(lose func(verb, kind string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose = lose
}

// Fence raises the epoch of a shoot.
func (c *Cloud) Fence(shoot string, epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fences[shoot] = epoch
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	verb, kind, id := route(r)
	answer, err := c.serve(r, verb, kind, id)
	if err == nil && verb != "get" && verb != "list" && c.lose != nil && c.lose(verb, kind) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(err.Code.Status())
		_ = json.NewEncoder(w).Encode(err)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// route splits a path into a kind and an id. Record sets and objects lie below their zone and bucket, and their ids
// begin with it.
func route(r *http.Request) (verb, kind, id string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	kind = parts[0]
	id = strings.Join(parts[1:], "/")
	if len(parts) > 2 && (parts[2] == cloud.KindRecords || parts[2] == cloud.KindObjects) {
		kind, id = parts[2], strings.Join(append([]string{parts[1]}, parts[3:]...), "/")
	}
	verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodDelete: "delete",
		http.MethodGet: "get"}[r.Method]
	below := kind == cloud.KindRecords || kind == cloud.KindObjects
	if verb == "get" && (id == "" || below && !strings.Contains(id, "/")) {
		verb = "list"
	}
	return verb, kind, id
}

func (c *Cloud) serve(r *http.Request, verb, kind, id string) (any, *cloud.Error) {
	if bucket, is := strings.CutSuffix(id, "/batch"); is && kind == cloud.KindBuckets {
		return c.batch(r, bucket)
	}
	if c.refuse != nil {
		if err := c.refuse(verb, kind); err != nil {
			return nil, err
		}
	}
	scope, err := cloud.ScopeFromHeaders(r.Header)
	if err != nil {
		return nil, &cloud.Error{Code: cloud.CodeInvalid, Reason: "InvalidScope", Message: err.Error()}
	}
	if verb != "get" && verb != "list" && scope.Epoch != 0 {
		if known := c.fences[scope.Shoot]; scope.Epoch < known {
			return nil, &cloud.Error{Code: cloud.CodeStaleEpoch, Reason: "OperationNotAllowed.StaleEpoch",
				Message: "operation not allowed"}
		}
		c.fences[scope.Shoot] = scope.Epoch
	}
	switch verb {
	case "get":
		return c.get(kind, id)
	case "list":
		return c.list(r, kind, id)
	case "create":
		return c.create(r, kind, scope)
	case "update":
		return c.put(r, kind, id, scope)
	}
	return c.remove(kind, id, scope)
}

// batch deletes objects; an extension copies none.
func (c *Cloud) batch(r *http.Request, bucket string) (any, *cloud.Error) {
	var calls []cloud.BatchCall
	if err := json.NewDecoder(r.Body).Decode(&calls); err != nil {
		return nil, &cloud.Error{Code: cloud.CodeInvalid, Reason: "InvalidParameterValue", Message: err.Error()}
	}
	results := make([]*cloud.Error, len(calls))
	for i, one := range calls {
		if one.Copy != nil {
			return nil, &cloud.Error{Code: cloud.CodeInvalid, Reason: "InvalidParameterValue", Message: "copies are not known"}
		}
		_, results[i] = c.serve(r, "delete", cloud.KindObjects, bucket+"/"+one.Key)
	}
	return map[string]any{"items": results}, nil
}

func missing(kind, id string) *cloud.Error {
	return &cloud.Error{Code: cloud.CodeNotFound, Reason: "InvalidID.NotFound",
		Message: fmt.Sprintf("The %s %q does not exist", kind, id)}
}

func (c *Cloud) get(kind, id string) (any, *cloud.Error) {
	found, ok := c.objects[kind][id]
	if !ok {
		return nil, missing(kind, id)
	}
	return found, nil
}

func (c *Cloud) list(r *http.Request, kind, below string) (any, *cloud.Error) {
	if kind == cloud.KindRouters || kind == cloud.KindSecurityGroups {
		return nil, &cloud.Error{Code: cloud.CodeUnauthorized, Reason: "UnauthorizedOperation", Message: "access denied"}
	}
	if kind == cloud.KindObjects && c.objects[cloud.KindBuckets][below] == nil {
		return nil, missing(cloud.KindBuckets, below)
	}
	items := []object{}
	for _, id := range c.order {
		kindOf, id, _ := strings.Cut(id, "|")
		o, ok := c.objects[kind][id]
		if !ok || kindOf != kind || below != "" && !strings.HasPrefix(id, below+"/") {
			continue
		}
		if matches(o, r) {
			items = append(items, o)
		}
	}
	return map[string]any{"items": items}, nil
}

func matches(o object, r *http.Request) bool {
	query := r.URL.Query()
	if name := query.Get("name"); name != "" && o["name"] != name {
		return false
	}
	if prefix := query.Get("prefix"); prefix != "" && !strings.HasPrefix(fmt.Sprint(o["key"]), prefix) {
		return false
	}
	tags, _ := o["tags"].(map[string]any)
	for _, tag := range query["tag"] {
		key, value, _ := strings.Cut(tag, "=")
		if tags[key] != value {
			return false
		}
	}
	return true
}

func (c *Cloud) create(r *http.Request, kind string, scope cloud.Scope) (any, *cloud.Error) {
	o := object{}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, &cloud.Error{Code: cloud.CodeInvalid, Reason: "InvalidParameterValue", Message: err.Error()}
	}
	token := r.URL.Query().Get("clientToken")
	if used, ok := c.tokens[token]; ok && token != "" {
		content, id, _ := strings.Cut(used, "|")
		if found, ok := c.objects[kind][id]; ok && content == string(body) {
			return found, nil
		}
		return nil, &cloud.Error{Code: cloud.CodeConflict, Reason: "IdempotentParameterMismatch",
			Message: "the token has been used"}
	}
	if kind == cloud.KindBuckets || kind == cloud.KindKeyPairs || kind == cloud.KindZones {
		for _, other := range c.objects[kind] {
			if other["name"] == o["name"] {
				return nil, &cloud.Error{Code: cloud.CodeAlreadyExists, Reason: "Duplicate", Message: "the name is taken"}
			}
		}
	}
	c.next++
	id := fmt.Sprintf("%s-%04d", kind[:3], c.next)
	if kind == cloud.KindBuckets {
		id = fmt.Sprint(o["name"])
	}
	c.describe(kind, id, o)
	if token != "" {
		c.tokens[token] = string(body) + "|" + id
	}
	c.store(kind, id, o)
	c.ledger = append(c.ledger, Call{"create", kind, id, scope.Shoot, scope.Epoch})
	return o, nil
}

// describe adds what the cloud sets.
func (c *Cloud) describe(kind, id string, o object) {
	o["id"] = id
	switch kind {
	case cloud.KindRouters:
		o["externalIP"] = fmt.Sprintf("203.0.113.%d", c.next)
	case cloud.KindMachines:
		o["state"], o["privateIP"], o["hostname"] = "running", fmt.Sprintf("10.250.0.%d", c.next), o["name"]
	case cloud.KindLoadBalancers:
		o["addresses"] = []string{fmt.Sprintf("198.51.100.%d", c.next)}
	}
}

func (c *Cloud) store(kind, id string, o object) {
	c.next++
	o["version"] = c.next
	if c.objects[kind] == nil {
		c.objects[kind] = map[string]object{}
	}
	if _, there := c.objects[kind][id]; !there {
		c.order = append(c.order, kind+"|"+id)
	}
	c.objects[kind][id] = o
}

func (c *Cloud) put(r *http.Request, kind, id string, scope cloud.Scope) (any, *cloud.Error) {
	o := object{}
	if kind == cloud.KindObjects {
		_, key, _ := strings.Cut(id, "/")
		o["key"] = key
	} else if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		return nil, &cloud.Error{Code: cloud.CodeInvalid, Reason: "InvalidParameterValue", Message: err.Error()}
	}
	current, there := c.objects[kind][id]
	query := r.URL.Query()
	if query.Get("ifAbsent") != "" && there {
		return nil, &cloud.Error{Code: cloud.CodeAlreadyExists, Reason: "Duplicate", Message: "it exists"}
	}
	if version := query.Get("ifVersion"); version != "" && (!there || strconv.Itoa(current["version"].(int)) != version) {
		return nil, &cloud.Error{Code: cloud.CodeConflict, Reason: "ConditionalCheckFailed",
			Message: "the version is another"}
	}
	o["id"] = id
	c.store(kind, id, o)
	c.ledger = append(c.ledger, Call{"update", kind, id, scope.Shoot, scope.Epoch})
	return o, nil
}

func (c *Cloud) remove(kind, id string, scope cloud.Scope) (any, *cloud.Error) {
	if _, ok := c.objects[kind][id]; !ok {
		return nil, missing(kind, id)
	}
	for other, objects := range c.objects {
		for by, o := range objects {
			if o["networkID"] == id || o["subnetID"] == id {
				return nil, &cloud.Error{Code: cloud.CodeDependencyViolation, Reason: "DependencyViolation",
					Message: "in use by " + other + "/" + by}
			}
		}
	}
	delete(c.objects[kind], id)
	c.ledger = append(c.ledger, Call{"delete", kind, id, scope.Shoot, scope.Epoch})
	return object{}, nil
}

// PutObject writes an object into a bucket, beside the API.
func (c *Cloud) PutObject(bucket, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(cloud.KindObjects, bucket+"/"+key, object{"id": bucket + "/" + key, "bucket": bucket, "key": key})
}

// Terminate ends a machine, beside the API.
func (c *Cloud) Terminate(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects[cloud.KindMachines], id)
}
