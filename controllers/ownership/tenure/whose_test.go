package tenure

import (
	"testing"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

func TestWhoseIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record ownership.Record
		want   Whose
	}{
		"no record":                       {want: NeverOwned},
		"this seed":                       {ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "a"}, Ours},
		"this seed, renamed":              {ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "b"}, Ours},
		"another seed":                    {ownership.Record{Owner: "uid-b", Epoch: 4, Seed: "b"}, Others},
		"this seed before it was rebuilt": {ownership.Record{Owner: "uid-a-before", Epoch: 2, Seed: "a"}, Others},
		"a deleted shoot":                 {ownership.Record{Owner: "none", Epoch: 5}, Nobodys},
		"a deleted shoot, by this seed":   {ownership.Record{Owner: "none", Epoch: 5, Seed: "a"}, Nobodys},
	} {
		if got := WhoseIs(c.record, "uid-a"); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
