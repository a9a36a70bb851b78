package embedded

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Between the end of a program and the moment that it is noticed its pid may be another's: the start time
// says which is meant.
func TestAProgramIsWhoWasStarted(t *testing.T) {
	t.Parallel()
	ended := &process.Process{} // and nobody has noticed
	c := &Cluster{name: "a", landscape: &Landscape{}, processes: map[string]*process.Process{"etcd": ended}}
	if id, err := c.Program("etcd"); err == nil || !strings.Contains(err.Error(),
		`find "etcd" of cluster "a": it does not run`) {
		t.Errorf("found %+v, %v", id, err)
	}
}
