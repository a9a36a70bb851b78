package landscape

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/mergepatch"
)

// A landscape is changed as its extensions' files say: the last has the last word. Nothing else changes.
func TestOverlay(t *testing.T) {
	t.Parallel()
	network := Extension{Name: "calico", Shoot: patch(t, `{"spec":{"networking":{"type":"calico"},"purpose":null}}`),
		Seed: patch(t, `{"metadata":{"labels":{"x":"y"}}}`)}
	system := Extension{Name: "os", WorkerPool: &mergepatch.Part{Merge: *patch(t, `{"machine":{"image":{"name":"os"}}}`)},
		CloudProfile: patch(t, `{"spec":{"machineImages":[{"name":"os"}]}}`)}
	other := Extension{Name: "cilium", Shoot: patch(t, `{"spec":{"networking":{"type":"cilium"}}}`)}
	for name, c := range map[string]struct {
		kind, object string
		extensions   []Extension
		want         string
	}{
		"no extension": {"Shoot", `{"spec":{"purpose":"testing"}}`, nil, `{"spec":{"purpose":"testing"}}`},
		"a shoot": {"Shoot", `{"spec":{"purpose":"testing","region":"here"}}`, []Extension{network},
			`{"spec":{"region":"here","networking":{"type":"calico"}}}`},
		"the last word": {"Shoot", `{"spec":{}}`, []Extension{network, other}, `{"spec":{"networking":{"type":"cilium"}}}`},
		"a seed": {"Seed", `{"spec":{"networks":{}}}`, []Extension{system, network},
			`{"metadata":{"labels":{"x":"y"}},"spec":{"networks":{}}}`},
		"a list is replaced": {"CloudProfile", `{"spec":{"type":"t","machineImages":[{"name":"a"},{"name":"b"}]}}`,
			[]Extension{system}, `{"spec":{"type":"t","machineImages":[{"name":"os"}]}}`},
		"another kind": {"Project", `{"spec":{"purpose":"testing"}}`, []Extension{network, system},
			`{"spec":{"purpose":"testing"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Overlay(c.kind, []byte(c.object), c.extensions)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, c.want), decoded(t, string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each pool of a shoot is changed, and a shoot without pools gets none.
func TestOverlay_WorkerPool_ChangesEachPool(t *testing.T) {
	t.Parallel()
	e := Extension{WorkerPool: &mergepatch.Part{Merge: *patch(t, `{"machine":{"image":{"name":"os","version":"2"}}}`)}}
	for object, want := range map[string][]string{
		`{"spec":{"provider":{"workers":[{"name":"a","machine":{"image":{"name":"x"}}},{"name":"b"}]}}}`: {"a os 2",
			"b os 2"},
		`{"spec":{}}`: nil,
	} {
		got, err := Overlay("Shoot", []byte(object), []Extension{e})
		if err != nil {
			t.Fatal(err)
		}
		shoot := struct {
			Spec struct {
				Provider struct {
					Workers []struct {
						Name    string
						Machine struct {
							Image struct{ Name, Version string }
						}
					}
				}
			}
		}{}
		if err := json.Unmarshal(got, &shoot); err != nil {
			t.Fatal(err)
		}
		var pools []string
		for _, pool := range shoot.Spec.Provider.Workers {
			pools = append(pools, pool.Name+" "+pool.Machine.Image.Name+" "+pool.Machine.Image.Version)
		}
		if diff := cmp.Diff(want, pools); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Without extensions, a landscape asks for what the reference provider reconciles, and for no Extension.
func TestAsked_WithoutExtensions_IsTheReferences(t *testing.T) {
	t.Parallel()
	asked, err := Asked(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range ExtensionKinds() {
		want := []string{ReferenceType(kind)}
		if kind == "Extension" {
			want = nil
		}
		if diff := cmp.Diff(want, asked[kind]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func patch(t *testing.T, text string) *mergepatch.Merge {
	t.Helper()
	p := &mergepatch.Merge{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
