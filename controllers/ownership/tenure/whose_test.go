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
		"this seed in another epoch":      {ownership.Record{Owner: "uid-a", Epoch: 4, Seed: "a"}, OursAnew},
		"this seed, renamed":              {ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "b"}, Ours},
		"another seed":                    {ownership.Record{Owner: "uid-b", Epoch: 3, Seed: "b"}, OthersBegun},
		"this seed before it was rebuilt": {ownership.Record{Owner: "uid-a-before", Epoch: 2, Seed: "a"}, OthersBegun},
		"a deleted shoot":                 {ownership.Record{Owner: "none", Epoch: 5}, Nobodys},
		"a deleted shoot, by this seed":   {ownership.Record{Owner: "none", Epoch: 5, Seed: "a"}, Nobodys},
	} {
		if got := WhoseIs(c.record, "uid-a", 3); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
