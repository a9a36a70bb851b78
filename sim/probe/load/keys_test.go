package load_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/sim/probe/load"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// stored is an API server of ConfigMaps whose store can go back to what it was.
type stored struct {
	mu      sync.Mutex
	version int
	objects map[string]timeline.DataKey
}

func (s *stored) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := &corev1.ConfigMap{}
	if err := json.NewDecoder(r.Body).Decode(asked); err != nil {
		status(http.StatusBadRequest)(w, r)
		return
	}
	name := path.Base(r.URL.Path)
	if r.Method == http.MethodPost {
		name = asked.Name
	}
	was, there := s.objects[name]
	switch {
	case r.Method == http.MethodPost && there:
		status(http.StatusConflict)(w, r)
	case r.Method == http.MethodPatch && !there:
		status(http.StatusNotFound)(w, r)
	case asked.ResourceVersion != "" && asked.ResourceVersion != fmt.Sprint(was.ResourceVersion):
		status(http.StatusConflict)(w, r)
	default:
		s.version++
		number, _ := strconv.Atoi(asked.Data["number"])
		s.objects[name] = timeline.DataKey{Key: name, Number: number, UID: cmp.Or(was.UID, fmt.Sprint(s.version)),
			ResourceVersion: int64(s.version)}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"uid":%q,"resourceVersion":"%d"},`+
			`"data":{"number":"%d"}}`, name, s.objects[name].UID, s.version, number)
	}
}

// Every write that a restore has lost is found in the data at the end, whatever has been written since: a key that is
// not as its last write has left it is left alone.
func TestAWriteThatARestoreHasLostIsNotHiddenByTheNext(t *testing.T) {
	t.Parallel()
	store := &stored{objects: map[string]timeline.DataKey{}}
	connect, _ := serving(t, store.ServeHTTP)
	j := journal()
	w := &load.Writer{Shoot: "alpha", Connect: connect, Keys: keys(), PerSecond: 10}
	write := func(n int) {
		for range n {
			if err := w.Sample(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
	}
	const kept, lost = 100, 40
	write(kept)
	backup := maps.Clone(store.objects)
	write(lost)
	store.objects, store.version = backup, store.version+1_000_000_000
	write(300)
	there := map[string]int{}
	for _, key := range store.objects {
		there[key.Key] = key.Number
	}
	var missing []int
	patches, refused := 0, 0
	for _, write := range timeline.Of[timeline.Write](j.Events()) {
		if write.Outcome == timeline.Failed {
			refused++
		}
		if write.Outcome != timeline.Acknowledged || there[write.Key] >= write.Number {
			continue
		}
		missing = append(missing, write.Number)
		if write.Verb == "patch" {
			patches++
		}
	}
	if len(missing) != lost || missing[0] != kept+1 || missing[len(missing)-1] != kept+lost || patches == 0 {
		t.Errorf("of %d lost writes %d are missing in the end, %d of them patches: %v", lost, len(missing), patches, missing)
	}
	if refused == 0 || refused > 10 {
		t.Errorf("%d patches were refused; want one for each key that was older", refused)
	}
}
