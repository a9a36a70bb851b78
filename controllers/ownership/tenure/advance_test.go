package tenure

import (
	"maps"
	"testing"
)

func TestAdvance(t *testing.T) {
	t.Parallel()
	type annotations = map[string]string
	const epoch, begun, ended = "transplant.dev/epoch", "transplant.dev/begun-epoch", "transplant.dev/ended-epoch"
	before := annotations{epoch: "4", begun: "3", ended: "2", "other": "stays"}
	for name, c := range map[string]struct {
		before annotations
		to     Step
		want   annotations
	}{
		"claimed":                   {before, Claimed, annotations{epoch: "5", begun: "3", ended: "2", "other": "stays"}},
		"begun":                     {before, Begun, annotations{epoch: "4", begun: "5", ended: "2", "other": "stays"}},
		"ended":                     {before, Ended, annotations{epoch: "4", begun: "3", ended: "5", "other": "stays"}},
		"abandoned":                 {before, Abandoned, annotations{begun: "3", ended: "2", "other": "stays"}},
		"claimed, nothing is noted": {nil, Claimed, annotations{epoch: "5"}},
		"begun, nothing is noted":   {nil, Begun, annotations{begun: "5"}},
		"ended, nothing is noted":   {nil, Ended, annotations{ended: "5"}},
		"abandoned already":         {annotations{begun: "3"}, Abandoned, annotations{begun: "3"}},
		"abandoned, nothing noted":  {nil, Abandoned, nil},
	} {
		namespace := namespaceWith(maps.Clone(c.before))
		Advance(namespace, c.to, 5)
		if !maps.Equal(namespace.Annotations, c.want) {
			t.Errorf("%s: got %v, want %v", name, namespace.Annotations, c.want)
		}
	}
}
