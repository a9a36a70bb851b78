package story

import (
	"slices"
	"testing"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// A folder whose pod has just gone is another find than one whose pod is there: the last look is taken once more.
func TestAFolderThatLosesItsPodIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	look := func(items ...timeline.Item) []string {
		return changing([]timeline.Event{{Subject: "a", Payload: timeline.InventorySeen{When: timeline.After, Items: items}}})
	}
	folder := timeline.Item{Class: "folder", Name: "pods/1", Owner: "1"}
	pod := timeline.Item{Class: "pods", Name: "p", UID: "1"}
	with, without := look(folder, pod), look(folder)
	if slices.Equal(with, without) {
		t.Errorf("with and without its pod: %q", with)
	}
	if again := look(folder); !slices.Equal(without, again) {
		t.Errorf("two looks at the same are %q and %q", without, again)
	}
	if none := look(pod); len(none) != 0 {
		t.Errorf("a pod that mentions no shoot is on its way out: %q", none)
	}
}
