package backend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/run"
)

// TestChaosMesh_Corpus_AnswersOfBackends asks each backend for each object of a corpus.
func TestChaosMesh_Corpus_AnswersOfBackends(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "sim", "fault", "chaosmesh", "testdata",
		"corpus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Name, Kind, Says            string
		Embedded, KindBackend, Mesh string
		Spec                        json.RawMessage
	}
	if err := yaml.UnmarshalStrict(content, &corpus); err != nil {
		t.Fatal(err)
	}
	on := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}},
		Shoots: []landscape.Shoot{{Name: "alpha", Seed: "a"}}}
	plain, mesh := &environment.ChaosMesh{}, &environment.ChaosMesh{Chart: "2.8.2"}
	seen := map[string]bool{}
	for _, c := range corpus {
		seen[c.Kind] = true
		object, err := json.Marshal(map[string]any{"apiVersion": "chaos-mesh.org/v1alpha1", "kind": c.Kind,
			"metadata": map[string]string{"name": "x"}, "spec": c.Spec})
		if err != nil {
			t.Fatal(err)
		}
		var e chaosmesh.Experiment
		if err := json.Unmarshal(object, &e); err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		wrong := e.Check(field.NewPath("object"), on).ToAggregate()
		for name, b := range map[string]struct {
			backend run.Backend
			want    string
		}{
			"embedded":             {&Embedded{ChaosMesh: plain}, c.Embedded},
			"kind":                 {&Kind{ChaosMesh: plain}, c.KindBackend},
			"kind with Chaos Mesh": {&Kind{ChaosMesh: mesh}, c.Mesh},
		} {
			refusal := error(wrong)
			if wrong == nil {
				refusal = b.backend.Can(e.Needs())
			}
			if refusal != nil && strings.Contains(refusal.Error(), "unless it is run by root") {
				refusal = nil // that is no matter of Chaos Mesh
			}
			switch {
			case b.want == "does" && refusal != nil:
				t.Errorf("%s: %s refuses it: %v", c.Name, name, refusal)
			case b.want == "refuses" && refusal == nil:
				t.Errorf("%s: %s does it", c.Name, name)
			case b.want == "refuses" && (c.Says == "" || !strings.Contains(refusal.Error(), c.Says)):
				t.Errorf("%s: %s says %v, want %q", c.Name, name, refusal, c.Says)
			case b.want == "refuses" && c.Mesh == "does" && !strings.Contains(refusal.Error(), "--chaos-mesh"):
				t.Errorf("%s: %s does not say who can: %v", c.Name, name, refusal)
			case b.want != "does" && b.want != "refuses":
				t.Errorf("%s: the answer of %s is %q, want does or refuses", c.Name, name, b.want)
			}
		}
	}
	for _, s := range chaosmesh.Supports() {
		if !seen[s.Kind] {
			t.Errorf("the corpus has no %s", s.Kind)
		}
	}
	if len(corpus) < 60 {
		t.Errorf("the corpus has %d objects, want 60 at least", len(corpus))
	}
}
