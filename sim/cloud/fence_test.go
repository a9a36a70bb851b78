package cloud

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// Calls of an older epoch are refused and recorded, whatever they call (docs/ownership.md#o8); reads are not.
func TestStaleEpochs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		fence   int64 // raised by an explicit call before
		seen    int64 // raised by an ordinary call before
		scope   api.Scope
		refused bool
	}{
		{"first epoch", 0, 0, api.Scope{Shoot: "alpha", Epoch: 1}, false},
		{"same epoch as seen", 0, 2, api.Scope{Shoot: "alpha", Epoch: 2}, false},
		{"lower than seen", 0, 2, api.Scope{Shoot: "alpha", Epoch: 1}, true},
		{"higher than seen", 0, 2, api.Scope{Shoot: "alpha", Epoch: 3}, false},
		{"lower than fenced", 4, 0, api.Scope{Shoot: "alpha", Epoch: 3}, true},
		{"same as fenced", 4, 2, api.Scope{Shoot: "alpha", Epoch: 4}, false},
		{"another shoot", 4, 0, api.Scope{Shoot: "beta", Epoch: 1}, false},
		{"shoot without epoch", 4, 0, api.Scope{Shoot: "alpha"}, false},
		{"no scope", 4, 0, api.Scope{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, Options{})
			client, ctx := cloud.as(t, "extensions-a"), t.Context()
			if test.seen > 0 {
				must(client.WithScope(api.Scope{Shoot: "alpha", Epoch: test.seen}).Networks().Create(ctx,
					&api.Network{CIDR: "10.0.0.0/16"}))(t)
			}
			if test.fence > 0 {
				must(client.Fence(ctx, api.Scope{Shoot: "alpha", Epoch: test.fence}))(t)
			}
			before := len(cloud.ledgerOf(t))
			for name, err := range mutations(t, client, cloud, test.scope) {
				if api.IsStaleEpoch(err) != test.refused {
					t.Errorf("%s ends with %v", name, err)
				}
			}
			refused := 0
			for _, entry := range cloud.ledgerOf(t)[before:] {
				if entry.Outcome == string(api.CodeStaleEpoch) {
					refused++
					if entry.Scope != test.scope || entry.Identity != "extensions-b" {
						t.Errorf("refusal is recorded as %+v", entry)
					}
				}
			}
			if want := len(mutationNames); test.refused && refused != want {
				t.Errorf("%d refusals are recorded, want %d", refused, want)
			}
			if _, err := cloud.as(t, "extensions-b").WithScope(test.scope).Networks().List(ctx, api.Filter{}); err != nil {
				t.Errorf("reading is refused: %v", err)
			}
		})
	}
}

var mutationNames = []string{"create", "update", "delete", "put object", "copy object", "delete object", "put record",
	"reboot"}

// mutations makes one call of each sort in the scope, on objects that another has made.
func mutations(t *testing.T, maker *api.Client, cloud *testCloud, scope api.Scope) map[string]error {
	t.Helper()
	ctx := t.Context()
	network := must(maker.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	machine := must(maker.Machines().Create(ctx, &api.Machine{Type: "small"}))(t)
	zone := must(maker.Zones().Create(ctx, &api.Zone{Name: "example.test"}))(t)
	bucket := bucketOf(t, maker)
	kept := must(bucket.Put(ctx, "kept", strings.NewReader("v"), api.PutOptions{}))(t)
	must(bucket.Put(ctx, "old", strings.NewReader("v"), api.PutOptions{}))(t)
	client := cloud.as(t, "extensions-b").WithScope(scope)
	errs := map[string]error{}
	batch := must(client.Bucket("backups").Batch(ctx, []api.BatchCall{{Key: "old"},
		{Key: "new", Copy: &api.CopySource{Bucket: "backups", Key: "kept", Digest: kept.Digest}}}))(t)
	errs["delete object"], errs["copy object"] = batch[0], batch[1]
	_, errs["create"] = client.Networks().Create(ctx, &api.Network{CIDR: "10.1.0.0/16"})
	_, errs["update"] = client.Networks().Update(ctx, network.ID,
		&api.Network{CIDR: network.CIDR, Tags: map[string]string{"a": "b"}})
	_, errs["reboot"] = client.RebootMachine(ctx, machine.ID)
	errs["delete"] = client.Networks().Delete(ctx, network.ID)
	_, errs["put object"] = client.Bucket("backups").Put(ctx, "k", strings.NewReader("v"), api.PutOptions{})
	_, errs["put record"] = client.Records(zone.ID).Put(ctx, &api.RecordSet{Name: "a.example.test", Type: "A",
		Values: []string{"127.0.0.9"}}, api.If{})
	return errs
}

func TestFences(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	must(client.Fence(ctx, api.Scope{Shoot: "alpha", Epoch: 3}))(t)
	must(client.Fence(ctx, api.Scope{Shoot: "alpha", Epoch: 3}))(t)
	_, err := client.Fence(ctx, api.Scope{Shoot: "alpha", Epoch: 2})
	wantCode(t, err, api.CodeStaleEpoch)
	_, err = client.Fence(ctx, api.Scope{Shoot: "alpha"})
	wantCode(t, err, api.CodeInvalid)
	must(client.Fence(ctx, api.Scope{Shoot: "alpha", Epoch: 5}))(t)
	fences := must(client.Fences(ctx))(t)
	want := []api.Fence{{Meta: api.Meta{ID: "alpha"}, Epoch: 5}}
	if diff := cmp.Diff(want, fences, cmpopts.IgnoreFields(api.Meta{}, "Version", "CreatedAt")); diff != "" {
		t.Error(diff)
	}
}

// A call that is refused for another reason proves no ownership, so it must not advance the epoch.
func TestFence_CallRefusedForAnotherReason_KeepsTheEpoch(t *testing.T) {
	t.Parallel()
	client, ctx := start(t, Options{}).as(t, "extensions-a"), t.Context()
	records := zoneOf(t, client)
	must(records.Put(api.WithScope(ctx, api.Scope{Shoot: "alpha", Epoch: 1}), ownerSet("e1"), api.If{Absent: true}))(t)
	_, err := records.Put(api.WithScope(ctx, api.Scope{Shoot: "alpha", Epoch: 9}), ownerSet("e9"),
		api.If{Values: []string{"other"}})
	wantCode(t, err, api.CodeConflict)
	if fences := must(client.Fences(ctx))(t); len(fences) != 1 || fences[0].Epoch != 1 {
		t.Errorf("fences are %v, want epoch 1", fences)
	}
}

// An extension that knows nothing of epochs carries them in its credentials.
func TestTokensCarryAScope(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	ctx := t.Context()
	old := cloud.as(t, api.ScopedToken("t-b", api.Scope{Shoot: "alpha", Epoch: 1}))
	network := must(old.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	must(cloud.as(t, "extensions-a").Fence(ctx, api.Scope{Shoot: "alpha", Epoch: 2}))(t)
	wantCode(t, old.Networks().Delete(ctx, network.ID), api.CodeStaleEpoch)
	_, err := cloud.as(t, "t-b~nonsense").Networks().List(ctx, api.Filter{})
	wantCode(t, err, api.CodeUnauthenticated)
	entries := cloud.ledgerOf(t)
	if last := entries[len(entries)-1]; last.Identity != "extensions-b" || last.Epoch != 1 ||
		last.Outcome != string(api.CodeStaleEpoch) {
		t.Errorf("the refusal is recorded as %+v", last)
	}
}
