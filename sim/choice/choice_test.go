package choice_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
)

// dessert is a part of the menu.
type dessert struct {
	Fruit *time.Month `json:"fruit,omitempty"`
}

// menu has three members, a field that is none, and a part with one more.
type menu struct {
	Name  string         `json:"name"`
	Month *time.Month    `json:"month,omitempty"`
	Day   *time.Weekday  `json:"day,omitempty"`
	Took  *time.Duration `json:"took,omitempty"`
	dessert
}

func TestOnly_NotExactlyOneMember_IsNone(t *testing.T) {
	t.Parallel()
	may, monday := time.May, time.Monday
	for want, of := range map[string]*menu{
		"month": {Name: "one", Month: &may},
		"":      {Name: "none"},
	} {
		if name, member := choice.Only[fmt.Stringer](of); name != want || (member == nil) != (want == "") {
			t.Errorf("%s: got %q, %v", of.Name, name, member)
		}
	}
	if name, member := choice.Only[fmt.Stringer](&menu{Month: &may, Day: &monday}); name != "" || member != nil {
		t.Errorf("two: got %q, %v", name, member)
	}
	all := &menu{Month: &may, Day: &monday, dessert: dessert{Fruit: &may}}
	if names, _ := choice.Given[fmt.Stringer](all); !slices.Equal(names, []string{"month", "day", "fruit"}) {
		t.Errorf("given are %v", names)
	}
	if names := choice.Members[fmt.Stringer, menu](); !slices.Equal(names, []string{"month", "day", "took", "fruit"}) {
		t.Errorf("members are %v", names)
	}
}

func TestCheck_NameOfNoList_IsRefused(t *testing.T) {
	t.Parallel()
	path, known := field.NewPath("seed"), []string{"a", "b"}
	if errs := choice.Check(path, "b", known); len(errs) > 0 {
		t.Error(errs)
	}
	const want = `seed: Unsupported value: "z": supported values: "a", "b"`
	if errs := choice.Check(path, "z", known); len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("got %v, want %s", errs, want)
	}
}
