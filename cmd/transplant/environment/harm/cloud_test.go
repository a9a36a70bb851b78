package harm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
)

// lossyCloud is a cloud that carries out what is asked for; the answer to one call is lost.
type lossyCloud struct {
	lost int // which call that sets a fault, counted from 1

	mu  sync.Mutex
	set []string
}

func (c *lossyCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := filepath.Base(r.URL.Path)
	switch {
	case r.Method == http.MethodPut:
		if c.set = append(c.set, id); len(c.set) == c.lost {
			panic(http.ErrAbortHandler)
		}
	case r.Method == http.MethodGet:
		all := struct {
			Items []cloud.Fault `json:"items"`
		}{}
		for _, one := range c.set {
			all.Items = append(all.Items, cloud.Fault{Meta: cloud.Meta{ID: one}})
		}
		_ = json.NewEncoder(w).Encode(all)
		return
	case !slices.Contains(c.set, id):
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(cloud.Error{Code: cloud.CodeNotFound})
		return
	default:
		c.set = slices.DeleteFunc(c.set, func(one string) bool { return one == id })
	}
	_ = json.NewEncoder(w).Encode(cloud.Fault{Hits: 2})
}

// forget the last fault that was set, as if the call had never arrived.
func (c *lossyCloud) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = c.set[:len(c.set)-1]
}

// A fault of the cloud whose answer was lost is healed like any other; that it was never set is no error of the heal.
// For a confirmed one that is not there, it is an error.
func TestCloudFaults_AnswerLost_HealEndsThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost, hits int
		forgotten  bool
		wrong      string
	}{
		"all are confirmed":       {hits: 4},
		"the last is set":         {lost: 2, hits: 4},
		"the first is set":        {lost: 1, hits: 2},
		"the last is not set":     {lost: 2, forgotten: true, hits: 2},
		"confirmed and not there": {forgotten: true, hits: 2, wrong: "heal a fault of the cloud"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &lossyCloud{lost: c.lost}
			server := httptest.NewServer(u)
			defer server.Close()
			admin, err := cloud.New(&rest.Config{Host: server.URL}, cloud.Options{})
			if err != nil {
				t.Fatal(err)
			}
			injection, err := setFaults(t.Context(), admin, make([]cloud.Fault, 2))
			if (err != nil) != (c.lost > 0) {
				t.Errorf("set: %v", err)
			}
			if c.forgotten {
				u.forget()
			}
			err = injection.Heal(t.Context())
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("heal: %v, want %q", err, c.wrong)
			}
			if len(u.set) > 0 || injection.Hits() != c.hits {
				t.Errorf("%d are left, %d hits, want %d", len(u.set), injection.Hits(), c.hits)
			}
		})
	}
}

// What no heal has reached is ended before the next run.
func TestEndFaults_FaultsAreLeft_EndsThem(t *testing.T) {
	t.Parallel()
	u := &lossyCloud{}
	server := httptest.NewServer(u)
	defer server.Close()
	admin, err := cloud.New(&rest.Config{Host: server.URL}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := setFaults(t.Context(), admin, make([]cloud.Fault, 2)); err != nil || len(u.set) != 2 {
		t.Fatalf("%d are set: %v", len(u.set), err)
	}
	if err := endFaults(t.Context(), admin); err != nil || len(u.set) > 0 {
		t.Errorf("%d are left: %v", len(u.set), err)
	}
}
