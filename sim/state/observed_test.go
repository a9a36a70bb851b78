package state_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

const everything = `shoot('alpha').healthy && seed('a').ready && cloud.machines > 0`

func compile(t *testing.T, text string) *expression.Expression {
	t.Helper()
	e, err := expression.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// looks at what was seen one after the other, as the run does, and returns what is recorded.
func looks(t *testing.T, e *expression.Expression, seen ...expression.Snapshot) []timeline.Observed {
	t.Helper()
	var recorded []timeline.Observed
	known := state.NewObserved(e)
	for _, one := range seen {
		p, isNew, err := known.Next(one, time.Time{}, true)
		if err != nil {
			t.Fatal(err)
		}
		if !isNew {
			continue
		}
		recorded = append(recorded, p)
		if err := known.Take(p); err != nil {
			t.Fatal(err)
		}
	}
	return recorded
}

// filled is a value with something in every field, and everything in it.
func filled(form reflect.Type) reflect.Value {
	value := reflect.New(form).Elem()
	switch form.Kind() {
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int64:
		value.SetInt(7)
	case reflect.String:
		value.SetString("text")
	case reflect.Slice:
		value.Set(reflect.Append(value, filled(form.Elem())))
	case reflect.Map:
		value.Set(reflect.MakeMap(form))
		value.SetMapIndex(filled(form.Key()), filled(form.Elem()))
	case reflect.Struct:
		for i := range form.NumField() {
			value.Field(i).Set(filled(form.Field(i).Type))
		}
	}
	return value
}

func TestObserved_EveryField_IsRecorded(t *testing.T) {
	t.Parallel()
	shoot := filled(reflect.TypeFor[expression.Shoot]()).Interface().(expression.Shoot)
	seed := filled(reflect.TypeFor[expression.Seed]()).Interface().(expression.Seed)
	cloud := filled(reflect.TypeFor[expression.Cloud]()).Interface().(expression.Cloud)
	want := expression.Snapshot{Shoots: map[string]expression.Shoot{"alpha": shoot},
		Seeds: map[string]expression.Seed{"a": seed}, Cloud: &cloud}
	recorded := looks(t, compile(t, everything), want)
	var got expression.Snapshot
	if err := json.Unmarshal(recorded[0].Facts, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recorded (-seen +recorded):\n%s", diff)
	}
}

// What expressions call a field is what the record calls it.
func TestObserved_Field_HasOneName(t *testing.T) {
	t.Parallel()
	for _, word := range expression.Vocabulary() {
		for i := range word.Form.NumField() {
			f := word.Form.Field(i)
			recorded, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if written := f.Tag.Get("cel"); written != "" && written != recorded || recorded == "" {
				t.Errorf("%s.%s is %q in expressions and %q on the record", word.Form.Name(), f.Name, written, recorded)
			}
		}
	}
}

func TestObserved_OnlyWhatIsNew_IsRecorded(t *testing.T) {
	t.Parallel()
	see := func(seed string, shoots, machines int) expression.Snapshot {
		return expression.Snapshot{
			Shoots: map[string]expression.Shoot{"alpha": {Exists: seed != "", Seed: seed, Constraints: map[string]string{}}},
			Seeds:  map[string]expression.Seed{"a": {Shoots: shoots, Unknown: expression.Unknown{}}},
			Cloud:  &expression.Cloud{Machines: machines},
		}
	}
	recorded := looks(t, compile(t, everything), see("", 0, 0), see("", 0, 0), see("a", 0, 0), see("a", 1, 0),
		see("a", 1, 3), see("a", 1, 3), see("", 1, 3))
	var facts []string
	for _, p := range recorded {
		if p.That != everything {
			t.Errorf("it is for %s", p.That)
		}
		facts = append(facts, string(p.Facts))
	}
	want := []string{
		`{"shoots":{"alpha":{}},"seeds":{"a":{}},"cloud":{}}`,
		`{"shoots":{"alpha":{"exists":true,"seed":"a"}},"seeds":{"a":{}},"cloud":{}}`,
		`{"shoots":{"alpha":{"exists":true,"seed":"a"}},"seeds":{"a":{"shoots":1}},"cloud":{}}`,
		`{"shoots":{"alpha":{"exists":true,"seed":"a"}},"seeds":{"a":{"shoots":1}},"cloud":{"machines":3}}`,
		`{"shoots":{"alpha":{}},"seeds":{"a":{"shoots":1}},"cloud":{"machines":3}}`,
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

func TestObserved_Known(t *testing.T) {
	t.Parallel()
	const missing = "does not say what was observed"
	for name, c := range map[string]struct {
		that    string
		facts   []string
		met     bool
		unknown string
	}{
		"nothing was observed": {that: `!shoot('alpha').exists`, unknown: missing},
		"no shoot was":         {that: `!shoot('alpha').exists`, facts: []string{`{}`}, unknown: missing},
		"no seed was":          {that: `seed('a').shoots == 0`, facts: []string{`{}`}, unknown: missing},
		"nor was the cloud":    {that: `cloud.machines == 0`, facts: []string{`{}`}, unknown: missing},
		"what has gone": {that: `!shoot('alpha').exists && shoot('alpha').seed == ''`, met: true,
			facts: []string{`{"shoots":{"alpha":{"exists":true,"seed":"a"}}}`, `{"shoots":{"alpha":{}}}`}},
		"another shoot was": {that: `!shoot('alpha').exists`, facts: []string{`{"shoots":{"beta":{}}}`}, unknown: missing},
		"the cloud was not asked for": {that: `cloud.machines == 0`, facts: []string{`{"shoots":{"alpha":{}}}`},
			unknown: missing},
		"a field was not asked for": {that: `shoot('alpha').warnings == []`, unknown: "warnings is unknown: not asked for",
			facts: []string{`{"shoots":{"alpha":{"exists":true,"unknown":{"warnings":"not asked for"}}}}`}},
		"there is none": {that: `!shoot('alpha').exists`, facts: []string{`{"shoots":{"alpha":{}}}`}, met: true},
		"a field cannot be read": {that: `seed('a').shoots == 0`, unknown: "shoots is unknown: refused",
			facts: []string{`{"seeds":{"a":{"unknown":{"shoots":"refused"}}}}`}},
		"it can be read again": {that: `seed('a').shoots == 0`, met: true,
			facts: []string{`{"seeds":{"a":{"unknown":{"shoots":"refused"}}}}`, `{"seeds":{"a":{}}}`}},
		"the cloud is empty again": {that: `cloud.machines == 0`, met: true,
			facts: []string{`{"cloud":{"machines":3}}`, `{"cloud":{}}`}},
		"what was seen once, and not again": {that: `shoot('alpha').healthy`, unknown: missing,
			facts: []string{`{"shoots":{"alpha":{"healthy":true}}}`, `{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := state.NewObserved(compile(t, c.that))
			for _, facts := range c.facts {
				if err := known.Take(timeline.Observed{That: "x", Facts: []byte(facts)}); err != nil {
					t.Fatal(err)
				}
			}
			met, why, err := known.Met, known.Why, known.Unknown
			if met != c.met || (err != nil) != (c.unknown != "") || err != nil && !strings.Contains(err.Error(), c.unknown) {
				t.Errorf("met %t, %v, %s; want %t, %q", met, err, why, c.met, c.unknown)
			}
		})
	}
}

// What the condition names is recorded at once. All else is for people, once a second and with the last look.
func TestObserved_WhatTheConditionDoesNotName_IsRecordedOnceASecond(t *testing.T) {
	t.Parallel()
	at := func(progress int) expression.Snapshot {
		return expression.Snapshot{Shoots: map[string]expression.Shoot{"alpha": {Exists: true, Seed: "a",
			LastOperation: expression.Operation{Type: "Migrate", Progress: progress}}}}
	}
	dark := func(field, why string) expression.Snapshot {
		return expression.Snapshot{Seeds: map[string]expression.Seed{"a": {Unknown: expression.Unknown{field: why}}}}
	}
	cloud := func(machines, volumes int) expression.Snapshot {
		return expression.Snapshot{Cloud: &expression.Cloud{Machines: machines, Volumes: volumes}}
	}
	statuses := func(nodes, system string) expression.Snapshot {
		return expression.Snapshot{Shoots: map[string]expression.Shoot{"alpha": {Exists: true,
			Conditions: map[string]string{"EveryNodeReady": nodes, "SystemComponentsHealthy": system}}}}
	}
	const ready = `shoot('alpha').conditions['EveryNodeReady'] == 'Unknown'`
	for name, c := range map[string]struct {
		that         string
		first, other expression.Snapshot
		atOnce       bool
	}{
		"another field":         {`shoot('alpha').seed == 'b'`, at(10), at(20), false},
		"the field":             {`shoot('alpha').lastOperation.progress == 30`, at(10), at(20), true},
		"another field in it":   {`shoot('alpha').lastOperation.type == 'Restore'`, at(10), at(20), false},
		"the field as a whole":  {`shoot('alpha').lastOperation == shoot('beta').lastOperation`, at(10), at(20), true},
		"the condition":         {ready, statuses("False", "True"), statuses("True", "True"), true},
		"another condition":     {ready, statuses("False", "True"), statuses("False", "False"), false},
		"the shoot":             {`!shoot('alpha').exists`, at(10), expression.Snapshot{}, true},
		"the shoot in a list":   {`[shoot('alpha')].all(s, s.lastOperation.progress == 30)`, at(10), at(20), false},
		"another reason":        {`seed('a').shoots == 0`, dark("shoots", "port 1"), dark("shoots", "port 2"), false},
		"unknown only now":      {`seed('a').shoots == 0`, dark("bound", "x"), dark("shoots", "x"), true},
		"another field unknown": {`seed('a').shoots == 0`, dark("bound", "x"), dark("ready", "x"), false},
		"the cloud":             {`cloud.machines == 3`, cloud(1, 0), cloud(2, 0), true},
		"another of the cloud":  {`cloud.machines == 3`, cloud(1, 0), cloud(1, 2), false},
	} {
		now := time.Now()
		known := state.NewObserved(compile(t, c.that))
		first, isNew, err := known.Next(c.first, now, false)
		if err != nil || !isNew || known.Take(first) != nil {
			t.Fatalf("%s: the first is new: %t, %v", name, isNew, err)
		}
		for _, look := range []struct {
			after      time.Duration
			last, want bool
		}{{999 * time.Millisecond, false, c.atOnce}, {999 * time.Millisecond, true, true}, {2 * time.Second, false, true}} {
			if _, isNew, err := known.Next(c.other, now.Add(look.after), look.last); err != nil || isNew != look.want {
				t.Errorf("%s, %s later, last %t: new %t, %v", name, look.after, look.last, isNew, err)
			}
		}
	}
}

func TestObserved_DamagedFacts_AreAnError(t *testing.T) {
	t.Parallel()
	err := (&state.Observed{}).Take(timeline.Observed{That: "x", Facts: []byte(`{"shoots":3}`)})
	if err == nil || !strings.Contains(err.Error(), "read what was observed for x") {
		t.Errorf("error %v", err)
	}
}
