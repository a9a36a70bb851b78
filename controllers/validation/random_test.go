package validation_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
	"github.com/transplant-sim/transplant/controllers/validation/ratchet"
)

// odd are values that authors, programs and accidents write into any field.
var odd = []any{
	nil, "", "1e3", "-1", "0", "99999999999999999999999999%", "1%", "v1.30", "1.30.0-alpha", "\u202eß\x00", "a--b",
	"../x", "TZ=", "CRON_TZ=Mars", "@every 1ns", "0 0 30 2 *", "*/0 * * * *", "0-99999999 * * * *", "240000+0000",
	"10.0.0.0/0", "::/0", "10.0.0.1/8", "-1h", "106751d", "9e999999999", "1Ei", "=", ";", ",", "]", "[0", "{}",
	int64(0), int64(-1), int64(1<<31 - 1), true, false, []any{}, map[string]any{},
}

// change makes a random change somewhere in a value: odd, missing or twice.
func change(d *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(value))
		if len(keys) == 0 || d.IntN(20) == 0 {
			return odd[d.IntN(len(odd))]
		}
		key := keys[d.IntN(len(keys))]
		if d.IntN(12) == 0 {
			delete(value, key)
		} else {
			value[key] = change(d, value[key])
		}
		return value
	case []any:
		switch i := d.IntN(len(value) + 1); {
		case i == len(value):
			return append(value, odd[d.IntN(len(odd))])
		case d.IntN(6) == 0:
			return append(value, runtime.DeepCopyJSONValue(value[i]))
		case d.IntN(12) == 0:
			return slices.Delete(value, i, i+1)
		default:
			value[i] = change(d, value[i])
			return value
		}
	}
	return odd[d.IntN(len(odd))]
}

// Whatever is written, defaults and rules do not panic, defaults set twice are the same, every error names a field and
// says what is wrong, and an object that has not changed has no errors that it did not have before.
func TestRandomObjects_AreJudged(t *testing.T) {
	t.Parallel()
	profile := &gardencorev1beta1.CloudProfile{}
	readable(t, baseOf(t, "CloudProfile"), profile)
	for _, c := range []struct {
		kind  string
		empty func() gardencorev1beta1.Defaulted
		// judge gives the errors of an object, and those of a change from the old to the new one.
		judge func(object, old gardencorev1beta1.Defaulted) (valid, change field.ErrorList)
	}{
		{"Shoot", func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Shoot{} },
			func(object, old gardencorev1beta1.Defaulted) (valid, change field.ErrorList) {
				around := validation.Surroundings{Project: "p", Profile: profile}
				now, before := object.(*gardencorev1beta1.Shoot), old.(*gardencorev1beta1.Shoot)
				return validation.Shoot(now, around), validation.ShootChange(now, before)
			}},
		{"CloudProfile", func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.CloudProfile{} },
			func(object, old gardencorev1beta1.Defaulted) (valid, change field.ErrorList) {
				now, before := object.(*gardencorev1beta1.CloudProfile), old.(*gardencorev1beta1.CloudProfile)
				return validation.CloudProfile(now), validation.CloudProfileChange(now, before)
			}},
		{"Seed", func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Seed{} },
			func(object, old gardencorev1beta1.Defaulted) (valid, change field.ErrorList) {
				now, before := object.(*gardencorev1beta1.Seed), old.(*gardencorev1beta1.Seed)
				return validation.Seed(now), validation.SeedChange(now, before)
			}},
		{"Project", func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Project{} },
			func(object, old gardencorev1beta1.Defaulted) (valid, change field.ErrorList) {
				now, before := object.(*gardencorev1beta1.Project), old.(*gardencorev1beta1.Project)
				others := []gardencorev1beta1.Project{*before}
				return validation.Project(now, others), validation.ProjectChange(now, before)
			}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			base, judged := baseOf(t, c.kind), 0
			before := c.empty()
			readable(t, base, before)
			before.SetDefaults()
			for seed := range uint64(500) {
				d := rand.New(rand.NewPCG(seed, 23))
				wire := runtime.DeepCopyJSON(base)
				for range 1 + d.IntN(4) {
					if changed, is := change(d, wire["spec"]).(map[string]any); is {
						wire["spec"] = changed
					}
				}
				object := c.empty()
				content, err := json.Marshal(wire)
				if err != nil {
					t.Fatal(err)
				}
				if json.Unmarshal(content, object) != nil {
					continue // an API server refuses it by the schema
				}
				judged++
				check(t, content, object, before, c.judge)
			}
			if judged < 100 {
				t.Errorf("only %d objects could be read", judged)
			}
		})
	}
}

func check(t *testing.T, content []byte, object, old gardencorev1beta1.Defaulted,
	judge func(object, old gardencorev1beta1.Defaulted) (valid, change field.ErrorList)) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("panic: %v, for %s", p, content)
		}
	}()
	judge(object, old) // objects of before there were defaults
	object.SetDefaults()
	once, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	object.SetDefaults()
	if twice, err := json.Marshal(object); err != nil || string(once) != string(twice) {
		t.Errorf("defaults set twice are others (%v): %s", err, cmp.Diff(string(once), string(twice)))
	}
	wire := map[string]any{}
	readable(t, once, &wire)
	valid, changed := judge(object, old)
	judge(old, object)
	for _, e := range append(valid, changed...) {
		if e.Field == "" || e.ErrorBody() == "" || strings.HasSuffix(e.Error(), ": ") {
			t.Errorf("the error %q names no field or no reason", e)
		}
	}
	if added := ratchet.Added(valid, valid, wire, wire); len(added) > 0 {
		t.Errorf("an object that has not changed is refused for %v", added)
	}
	if _, changed := judge(object, object); len(changed) > 0 {
		t.Errorf("an object that has not changed is refused for %v: %s", changed, once)
	}
}

// baseOf is an object of a kind that has all fields.
func baseOf(t *testing.T, kind string) map[string]any {
	t.Helper()
	content, err := os.ReadFile("../admission/testdata/fields/" + strings.ToLower(kind) + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Base map[string]any `json:"base"`
	}
	if err := yaml.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	return normal(t, cases.Base)
}

// normal has the numbers that runtime.DeepCopyJSON knows.
func normal(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var same map[string]any
	readable(t, content, &same)
	return same
}

// readable reads JSON, or an object that is written as JSON first.
func readable(t *testing.T, from, into any) {
	t.Helper()
	content, is := from.([]byte)
	if !is {
		var err error
		if content, err = json.Marshal(from); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}
