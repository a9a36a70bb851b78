package cloud

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// Every mutating call is in the ledger, refused ones too, with who, what, and the digests that chain its versions.
func TestLedgerIsComplete(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a").WithScope(api.Scope{Shoot: "alpha", Epoch: 7}), t.Context()
	network := must(client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	tagged := *network
	tagged.Tags = map[string]string{"a": "b"}
	must(client.Networks().Update(ctx, network.ID, &tagged))(t)
	must(client.Networks().Update(ctx, network.ID, &api.Network{CIDR: network.CIDR}))(t)
	must(client.Networks().List(ctx, api.Filter{}))(t)
	must(client.Networks().Get(ctx, network.ID))(t)
	wantCode(t, client.Networks().Delete(ctx, "net-none"), api.CodeNotFound)
	_, err := client.Networks().Create(ctx, &api.Network{CIDR: "nonsense"})
	wantCode(t, err, api.CodeInvalid)
	_, err = cloud.as(t, "nobody").Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"})
	wantCode(t, err, api.CodeUnauthenticated)
	bucket := bucketOf(t, client)
	must(bucket.Put(ctx, "k", strings.NewReader("v"), api.PutOptions{}))(t)
	_, err = bucket.Put(ctx, "k", strings.NewReader("v"), api.PutOptions{CreateOnly: true})
	wantCode(t, err, api.CodeAlreadyExists)
	if err := bucket.Delete(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if err := client.Networks().Delete(ctx, network.ID); err != nil {
		t.Fatal(err)
	}
	var got []string
	entries := cloud.ledgerOf(t)
	for _, e := range entries {
		id := strings.ReplaceAll(e.ID, network.ID, "NET")
		got = append(got, strings.Join([]string{e.Verb, e.Kind, id, e.Identity, e.Shoot, e.Outcome}, " "))
		if e.RequestID == "" || e.Time.IsZero() || (e.Identity != "" && e.Epoch != 7) {
			t.Errorf("entry lacks request, time or epoch: %+v", e)
		}
	}
	want := []string{
		"create networks NET extensions-a alpha OK",
		"update networks NET extensions-a alpha OK",
		"update networks NET extensions-a alpha OK",
		"delete networks net-none extensions-a alpha NotFound",
		"create networks  extensions-a alpha Invalid",
		"create networks    Unauthenticated",
		"create buckets backups extensions-a alpha OK",
		"put objects backups/k extensions-a alpha OK",
		"put objects backups/k extensions-a alpha AlreadyExists",
		"delete objects backups/k extensions-a alpha OK",
		"delete networks NET extensions-a alpha OK",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	created, changed, back, deleted := entries[0], entries[1], entries[2], entries[10]
	if created.Before != "" || created.After != changed.Before || changed.After != back.Before ||
		back.After != deleted.Before || deleted.After != "" {
		t.Errorf("digests do not chain: %v", entries)
	}
	if changed.After == created.After || back.After != created.After {
		t.Error("a change must change the digest, and changing back must give the first again")
	}
}

// A reload from the ledger gives the state that was there, and nothing of the counters of refused calls.
func TestStateIsTheFoldOfTheLedger(t *testing.T) {
	t.Parallel()
	options := Options{Dir: t.TempDir(), Tokens: tokenFile(t)}
	cloud := start(t, options)
	client, ctx := cloud.as(t, "extensions-a").WithScope(api.Scope{Shoot: "alpha", Epoch: 2}), t.Context()
	network := must(client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}, api.ClientToken("x")))(t)
	must(client.Routers().Create(ctx, &api.Router{NetworkID: network.ID}))(t)
	m := must(client.Machines().Create(ctx, &api.Machine{Type: "small"}))(t)
	must(client.Machines().Create(ctx, &api.Machine{Type: "small"}))(t)
	if err := client.Machines().Delete(ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	records := zoneOf(t, client)
	must(records.Put(ctx, ownerSet("e1"), api.If{}))(t)
	must(records.Put(ctx, ownerSet("e2"), api.If{}))(t)
	bucket := bucketOf(t, client)
	must(bucket.Put(ctx, "a", strings.NewReader("x"), api.PutOptions{}))(t)
	must(bucket.Put(ctx, "b", strings.NewReader("y"), api.PutOptions{}))(t)
	if err := bucket.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	must(cloud.as(t, "admin").SetFault(ctx,
		api.Fault{Meta: api.Meta{ID: "f"}, Match: api.Match{Kinds: []string{"volumes"}},
			Effect: api.Effect{Error: &api.ErrorEffect{Code: api.CodeDepleted}}}))(t)
	before := cloud.db.state
	cloud.stop()

	// What a kill may leave behind: a half-written line, and a content that no entry names.
	file, err := os.OpenFile(filepath.Join(options.Dir, "ledger.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"seq":99,"verb":"crea`); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if err := os.WriteFile(filepath.Join(options.Dir, "objects", "backups", "orphan.0123"), []byte("x"),
		0o600); err != nil {
		t.Fatal(err)
	}

	again := start(t, options)
	for name, pair := range map[string][2]any{
		"rows": {before.rows, again.db.state.rows}, "tokens": {before.tokens, again.db.state.tokens},
		"keys": {before.keys, again.db.state.keys}, "names": {before.names, again.db.state.names},
	} {
		if diff := cmp.Diff(pair[0], pair[1], cmp.AllowUnexported(tokenResult{}, storedObject{})); diff != "" {
			t.Errorf("%s differ after a restart: %s", name, diff)
		}
	}
	if kept := contents(t, again); kept != 1 {
		t.Errorf("%d contents are kept for one object", kept)
	}
	_, err = again.as(t, "extensions-a").Volumes().Create(ctx, &api.Volume{Size: "1Gi"})
	wantCode(t, err, api.CodeDepleted)
	replayed := must(again.as(t, "extensions-a").Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"},
		api.ClientToken("x")))(t)
	if replayed.ID != network.ID {
		t.Error("a client token was forgotten")
	}
}

func TestDamagedLedgerIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ content, want string }{
		"no JSON": {`{"seq":1,"outcome":"Invalid"}` + "\nnonsense\n", "line 2: invalid character"},
		"gap": {`{"seq":1,"outcome":"Invalid"}` + "\n" + `{"seq":3,"outcome":"Invalid"}` + "\n",
			"line 2: has number 3"},
		"unknown kind": {`{"seq":1,"outcome":"OK","kind":"ships"}` + "\n", `line 1: apply entry 1: unknown kind "ships"`},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "ledger.jsonl"), []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), Options{Dir: dir, Tokens: tokenFile(t)}); err == nil || !strings.Contains(err.Error(),
			test.want) {
			t.Errorf("%s: opened with %v, want %q", name, err, test.want)
		}
	}
}

func TestFollowers(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, observer := cloud.as(t, "extensions-a"), cloud.as(t, "observer")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	polled := make(chan []api.LedgerEntry, 1)
	go func() {
		entries, err := observer.Ledger(ctx, api.LedgerQuery{Kind: api.KindMachines, Wait: time.Minute})
		if err != nil {
			t.Error(err)
		}
		polled <- entries
	}()
	seen := make(chan api.LedgerEntry, 100)
	go func() {
		for entry, err := range observer.FollowLedger(ctx, api.LedgerQuery{After: 1}) {
			if err != nil {
				break
			}
			seen <- entry
		}
		close(seen)
	}()
	for range 3 {
		must(client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	}
	must(client.Machines().Create(ctx, &api.Machine{Type: "small"}))(t)
	if entries := <-polled; len(entries) != 1 || entries[0].Kind != api.KindMachines {
		t.Errorf("the long poll for machines ends with %v", entries)
	}
	for want := int64(2); want <= 4; want++ {
		if entry := <-seen; entry.Seq != want {
			t.Errorf("followed entry %d, want %d", entry.Seq, want)
		}
	}
	if none := must(observer.Ledger(ctx, api.LedgerQuery{After: 4, Wait: 10 * time.Millisecond}))(t); len(none) != 0 {
		t.Errorf("a poll that runs out ends with %v", none)
	}
}

func TestTokensAreReadAgain(t *testing.T) {
	t.Parallel()
	tokens := tokenFile(t)
	cloud := start(t, Options{Tokens: tokens})
	ctx := t.Context()
	young := cloud.as(t, "t-young")
	_, err := young.Networks().List(ctx, api.Filter{})
	wantCode(t, err, api.CodeUnauthenticated)
	if err := os.WriteFile(tokens, []byte("tokens: [{token: t-young, identity: young}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(young.Networks().List(ctx, api.Filter{}))(t)
	_, err = cloud.as(t, "extensions-a").Networks().List(ctx, api.Filter{})
	wantCode(t, err, api.CodeUnauthenticated)
	if err := os.WriteFile(tokens, []byte("nonsense: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	must(young.Networks().List(ctx, api.Filter{}))(t) // what was known stays known
}
