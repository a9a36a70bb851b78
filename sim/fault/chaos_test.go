package fault_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/sim/fault"
)

func parseChaos(kind, spec string) (*fault.Chaos, error) {
	content, err := yaml.YAMLToJSON([]byte("apiVersion: chaos-mesh.org/v1alpha1\nkind: " + kind +
		"\nmetadata: {name: x, namespace: garden}\nspec: {" + spec + "}\n"))
	if err != nil {
		return nil, err
	}
	c := &fault.Chaos{Cluster: fault.Cluster{Cluster: "a"}}
	return c, json.Unmarshal(content, &c.Object)
}

const (
	gardenlets = "selector: {namespaces: [garden], labelSelectors: {app: gardenlet}}, mode: all"
	partition  = gardenlets + ", action: partition, direction: to, externalTargets: [garden]"
)

// A backend that cannot do what only Chaos Mesh can names the field that asks for it.
func TestBeyond(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]string{
		"object.spec.device": gardenlets + ", action: loss, loss: {loss: '25'}, device: eth1",
		"":                   partition,
	} {
		f, err := parseChaos("NetworkChaos", spec)
		must(t, err)
		if got := f.Traits().Beyond; got != want {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
	if got := (&fault.Cut{}).Traits().Beyond; got != "" {
		t.Errorf("a cut: %q", got)
	}
}

func TestCheck_ChaosOnUnknownCluster_IsRefused(t *testing.T) {
	t.Parallel()
	f, err := parseChaos("NetworkChaos", partition)
	must(t, err)
	f.Cluster.Cluster = "moon"
	const want = `fault.cluster: Unsupported value: "moon"`
	if errs := f.Check(field.NewPath("fault"), ground); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
		t.Errorf("got %v, want %s", errs, want)
	}
}
