package cloud

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/transplant-sim/transplant/api/cloud"
)

const ownerRecord = "owner.alpha.p.shoots.transplant.test"

func zoneOf(t *testing.T, client *api.Client) api.Records {
	t.Helper()
	zone := must(client.Zones().Create(t.Context(), &api.Zone{Name: "shoots.transplant.test"}))(t)
	return client.Records(zone.ID)
}

func ownerSet(value string) *api.RecordSet {
	return &api.RecordSet{Name: ownerRecord, Type: api.RecordTXT, TTL: 1, Values: []string{value}}
}

func TestRecordConditions(t *testing.T) {
	t.Parallel()
	records, ctx := zoneOf(t, start(t, Options{}).as(t, "extensions-a")), t.Context()
	first := must(records.Put(ctx, ownerSet("e1"), api.If{Absent: true}))(t)
	steps := []struct {
		name      string
		condition api.If
		want      api.Code
	}{
		{"absent, but it is there", api.If{Absent: true}, api.CodeAlreadyExists},
		{"another version", api.If{Version: first.Version + 1}, api.CodeConflict},
		{"other values", api.If{Values: []string{"e0"}}, api.CodeConflict},
		{"no values", api.If{Values: []string{}}, api.CodeConflict},
		{"a part of the values", api.If{Values: []string{"e1", "e2"}}, api.CodeConflict},
		{"right version, other values", api.If{Version: first.Version, Values: []string{"e0"}}, api.CodeConflict},
		{"right version and values", api.If{Version: first.Version, Values: []string{"e1"}}, ""},
		{"the version before", api.If{Version: first.Version}, api.CodeConflict},
		{"right values", api.If{Values: []string{"e2"}}, ""},
		{"no condition", api.If{}, ""},
	}
	for _, step := range steps {
		_, err := records.Put(ctx, ownerSet("e2"), step.condition)
		if api.CodeOf(err) != step.want || (err != nil) != (step.want != "") {
			t.Errorf("%s: error %v, want code %q", step.name, err, step.want)
		}
	}
	wantCode(t, records.Delete(ctx, api.RecordTXT, ownerRecord, api.If{Values: []string{"e1"}}), api.CodeConflict)
	if err := records.Delete(ctx, api.RecordTXT, ownerRecord, api.If{Values: []string{"e2"}}); err != nil {
		t.Fatal(err)
	}
	_, err := records.Get(ctx, api.RecordTXT, ownerRecord)
	wantCode(t, err, api.CodeNotFound)
	_, err = records.Put(ctx, ownerSet("e3"), api.If{Values: []string{"e2"}})
	wantCode(t, err, api.CodeConflict)
	again := must(records.Put(ctx, ownerSet("e1"), api.If{Absent: true}))(t)
	if again.Version <= first.Version {
		t.Errorf("a successor has version %d, its predecessor had %d", again.Version, first.Version)
	}
}

// One of many wins each round, and everybody reads the winner's value afterwards.
func TestRecordRaces(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	records, ctx := zoneOf(t, cloud.as(t, "extensions-a")), t.Context()
	condition := api.If{Absent: true}
	for round := range 10 {
		const racers = 16
		var group sync.WaitGroup
		errs, written := make([]error, racers), make([]*api.RecordSet, racers)
		for i := range racers {
			group.Go(func() {
				written[i], errs[i] = records.Put(ctx, ownerSet(fmt.Sprintf("round %d racer %d", round, i)), condition)
			})
		}
		group.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won >= 0:
				t.Fatalf("round %d: racers %d and %d both won", round, won, i)
			case err == nil:
				won = i
			case !api.IsConflict(err) && !api.IsAlreadyExists(err):
				t.Fatalf("round %d: racer %d: %v", round, i, err)
			}
		}
		if won < 0 {
			t.Fatalf("round %d: nobody won: %v", round, errors.Join(errs...))
		}
		read := must(records.Get(ctx, api.RecordTXT, ownerRecord))(t)
		if diff := cmp.Diff(written[won], read); diff != "" {
			t.Fatalf("round %d: read differs from what the winner wrote: %s", round, diff)
		}
		condition = api.If{Version: read.Version}
	}
}

func TestRecordListIsOrdered(t *testing.T) {
	t.Parallel()
	records, ctx := zoneOf(t, start(t, Options{}).as(t, "extensions-a")), t.Context()
	for _, name := range []string{"b", "a", "c"} {
		must(records.Put(ctx, &api.RecordSet{Name: name + ".shoots.transplant.test", Type: "A", TTL: 5,
			Values: []string{"127.0.0.9"}}, api.If{}))(t)
	}
	var names []string
	for _, set := range must(records.List(ctx))(t) {
		names = append(names, set.Name)
	}
	if diff := cmp.Diff([]string{"a.shoots.transplant.test", "b.shoots.transplant.test", "c.shoots.transplant.test"},
		names); diff != "" {
		t.Error(diff)
	}
}
