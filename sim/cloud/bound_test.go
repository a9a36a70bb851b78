package cloud

import (
	"context"
	"fmt"
	"strings"
	"testing"

	api "github.com/transplant-sim/transplant/api/cloud"
)

const (
	ofAlpha, ofBeta = "owner.alpha.p.example.test", "owner.beta.p.example.test"
	ofMoving        = "owner.moving.p.example.test"
	alphaID, betaID = "shoot--p--alpha", "shoot--p--beta"
)

func ownerOf(name, seed string, epoch int64) *api.RecordSet {
	return &api.RecordSet{Name: name, Type: api.RecordTXT, TTL: 1,
		Values: []string{fmt.Sprintf("owner=uid-%s epoch=%d seed=%s", seed, epoch, seed)}}
}

// A seed's token may do for a shoot what the owner record in DNS allows, whatever it calls. alpha is seed a's with
// epoch 3, beta is seed b's with epoch 5, and so is moving, which is bound to a; the token is seed a's.
func TestBoundToken_EachCall_OnlyWhatTheDecisionAllows(t *testing.T) {
	t.Parallel()
	scoped := func(shoot string, epoch int64) api.Scope { return api.Scope{Shoot: shoot, Epoch: epoch} }
	network := func(scope api.Scope) func(context.Context, *boundCloud) error {
		return func(ctx context.Context, b *boundCloud) error {
			_, err := b.a.WithScope(scope).Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"})
			return err
		}
	}
	update := func(scope api.Scope) func(context.Context, *boundCloud) error {
		return func(ctx context.Context, b *boundCloud) error {
			_, err := b.a.WithScope(scope).Networks().Update(ctx, b.network,
				&api.Network{CIDR: "10.9.0.0/16", Tags: map[string]string{"x": "y"}})
			return err
		}
	}
	remove := func(scope api.Scope) func(context.Context, *boundCloud) error {
		return func(ctx context.Context, b *boundCloud) error {
			return b.a.WithScope(scope).Networks().Delete(ctx, b.network)
		}
	}
	object := func(scope api.Scope) func(context.Context, *boundCloud) error {
		return func(ctx context.Context, b *boundCloud) error {
			_, err := b.a.WithScope(scope).Bucket("backups").Put(ctx, "k", strings.NewReader("v"), api.PutOptions{})
			return err
		}
	}
	fence := func(scope api.Scope) func(context.Context, *boundCloud) error {
		return func(ctx context.Context, b *boundCloud) error {
			_, err := b.a.Fence(ctx, scope)
			return err
		}
	}
	putIn := func(shoot string, set *api.RecordSet) func(context.Context, *boundCloud) error {
		return func(ctx context.Context, b *boundCloud) error {
			_, err := b.a.WithScope(api.Scope{Shoot: shoot}).Records(b.zone).Put(ctx, set, api.If{})
			return err
		}
	}
	put := func(set *api.RecordSet) func(context.Context, *boundCloud) error { return putIn("", set) }
	drop := func(kind, name string) func(context.Context, *boundCloud) error {
		return func(ctx context.Context, b *boundCloud) error {
			return b.a.Records(b.zone).Delete(ctx, kind, name, api.If{})
		}
	}
	address := func(name string) *api.RecordSet {
		return &api.RecordSet{Name: name, Type: api.RecordA, TTL: 1, Values: []string{"127.0.0.9"}}
	}
	tests := map[string]struct {
		call    func(context.Context, *boundCloud) error
		refused string // a part of the message; empty for a call that is allowed
	}{
		"fence its own shoot with its epoch":  {fence(scoped(alphaID, 3)), "may not fence"},
		"fence another's shoot":               {fence(scoped(betaID, 6)), "may not fence"},
		"create in its scope":                 {network(scoped(alphaID, 3)), ""},
		"create with an older epoch":          {network(scoped(alphaID, 2)), ""},
		"create with the next epoch":          {network(scoped(alphaID, 4)), "its owner record gives seed 'a' epoch 3"},
		"create with another's next epoch":    {network(scoped(betaID, 6)), "its owner record gives seed 'b' epoch 5"},
		"create with another's epoch":         {network(scoped(betaID, 5)), "its owner record gives seed 'b' epoch 5"},
		"create for a shoot that nobody owns": {network(scoped("shoot--p--gamma", 1)), "may not act for 'shoot--p--gamma'"},
		"create for what is no shoot":         {network(scoped("nonsense", 1)), "may not act for 'nonsense'"},
		"create with a jump":                  {network(scoped(alphaID, 9)), "epoch 9"},
		"create in another's scope":           {network(scoped(betaID, 7)), "seed 'b'"},
		"update with a jump":                  {update(scoped(alphaID, 9)), "epoch 9"},
		"update in another's scope":           {update(scoped(betaID, 7)), "seed 'b'"},
		"delete with a jump":                  {remove(scoped(alphaID, 9)), "epoch 9"},
		"delete in another's scope":           {remove(scoped(betaID, 7)), "seed 'b'"},
		"upload with a jump":                  {object(scoped(alphaID, 9)), "epoch 9"},
		"upload in another's scope":           {object(scoped(betaID, 7)), "seed 'b'"},
		"create without an epoch":             {network(api.Scope{Shoot: alphaID}), ""},
		"without an epoch in another's scope": {network(api.Scope{Shoot: betaID}), "which is seed 'b's"},
		"renew its own decision":              {put(ownerOf(ofAlpha, "a", 4)), ""},
		"take over another's":                 {put(ownerOf(ofBeta, "a", 6)), "the garden has bound the shoot to seed 'b'"},
		"take over with the next epoch":       {put(ownerOf(ofMoving, "a", 6)), ""},
		"take over after tries that failed":   {put(ownerOf(ofMoving, "a", 12)), ""},
		"take over after 99 that failed":      {put(ownerOf(ofMoving, "a", 105)), ""},
		"take over with a jump":               {put(ownerOf(ofMoving, "a", 106)), "from 5 to 106"},
		"take over with the same epoch":       {put(ownerOf(ofMoving, "a", 5)), "from 5 to 5"},
		"begin a shoot that nobody has bound": {put(ownerOf("owner.none.p.example.test", "a", 1)),
			"the garden has bound the shoot to seed ''"},
		"lower its own epoch":           {put(ownerOf(ofAlpha, "a", 2)), "from 3 to 2"},
		"give its shoot away":           {put(ownerOf(ofAlpha, "b", 4)), "may name no seed but 'a'"},
		"begin a new shoot":             {put(ownerOf("owner.gamma.p.example.test", "a", 1)), ""},
		"begin a new shoot with a jump": {put(ownerOf("owner.gamma.p.example.test", "a", 1<<40)), "from 0 to"},
		"make nonsense of a decision": {put(&api.RecordSet{Name: ofBeta, Type: api.RecordTXT, TTL: 1,
			Values: []string{"x"}}), "may name no seed"},
		"retire its own shoot": {put(&api.RecordSet{Name: ofAlpha, Type: api.RecordTXT, TTL: 1,
			Values: []string{"owner=none epoch=4 seed=a"}}), ""},
		"remove another's decision":         {drop(api.RecordTXT, ofBeta), "not remove it"},
		"remove its own decision":           {drop(api.RecordTXT, ofAlpha), "not remove it"},
		"point its own name":                {put(address("api.alpha.p.example.test")), ""},
		"point another's name":              {put(address("api.beta.p.example.test")), "which is seed 'b's"},
		"point another's name, in capitals": {put(address("API.Beta.P.example.test.")), "which is seed 'b's"},
		"point a name below another's":      {put(address("x.y.beta.p.example.test")), "which is seed 'b's"},
		"point another's, in its own scope": {putIn(alphaID, address("api.beta.p.example.test")), "which is seed 'b's"},
		"remove another's name":             {drop(api.RecordA, "api-too.beta.p.example.test"), "which is seed 'b's"},
		"point a wildcard of its own":       {put(address("*.alpha.p.example.test")), ""},
		"point a wildcard of another's":     {put(address("*.beta.p.example.test")), "which is seed 'b's"},
		"point a wildcard of a project":     {put(address("*.p.example.test")), "above the names of shoots"},
		"point a wildcard below one":        {put(address("api.*.p.example.test")), "above the names of shoots"},
		"point a wildcard of all":           {putIn(alphaID, address("*.example.test")), "above the names of shoots"},
		"point the name of a project":       {put(address("p.example.test")), "above the names of shoots"},
		"point the name of the zone":        {put(address("example.test")), "above the names of shoots"},
		"point a name of no shoot":          {put(address("www.shop.example.test")), "of no shoot"},
		"point its own domain":              {putIn(alphaID, address("www.shop.example.test")), ""},
		"point another's own domain":        {putIn(betaID, address("www.shop.example.test")), "which is seed 'b's"},
		"point an operator's name":          {putIn(alphaID, address("www.corp.example.test")), "of no shoot"},
		"remove an operator's name":         {drop(api.RecordA, "www.corp.example.test"), "of no shoot"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBound(t)
			err := test.call(t.Context(), b)
			if test.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantCode(t, err, api.CodeUnauthorized)
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("it is refused with %v, want %q", err, test.refused)
			}
			entries := b.ledgerOf(t)
			if last := entries[len(entries)-1]; last.Outcome != string(api.CodeUnauthorized) ||
				last.Identity != "extensions-of-a" {
				t.Errorf("the refusal is recorded as %+v", last)
			}
			for _, fence := range must(b.as(t, "observer").Fences(t.Context()))(t) {
				t.Errorf("%s is fenced at epoch %d", fence.ID, fence.Epoch)
			}
		})
	}
}

type boundCloud struct {
	*testCloud
	a             *api.Client
	zone, network string
}

func startBound(t *testing.T) *boundCloud {
	t.Helper()
	cloud := start(t, Options{Tokens: tokenFile(t, boundTokens...)})
	admin, ctx := cloud.as(t, "admin"), t.Context()
	zone := must(admin.Zones().Create(ctx, &api.Zone{Name: "example.test"}))(t)
	records := admin.Records(zone.ID)
	must(records.Put(ctx, ownerOf(ofAlpha, "a", 3), api.If{Absent: true}))(t)
	must(records.Put(ctx, ownerOf(ofBeta, "b", 5), api.If{Absent: true}))(t)
	must(records.Put(ctx, ownerOf(ofMoving, "b", 5), api.If{Absent: true}))(t)
	for shoot, seed := range map[string]string{"alpha": "a", "beta": "b", "moving": "a", "gamma": "a"} {
		must(cloud.as(t, "t-policies").SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: "shoot--p--" + shoot}, Bound: seed}))(t)
	}
	for _, name := range []string{"api-too.beta.p.example.test", "www.corp.example.test"} {
		must(records.Put(ctx, addressOf(name), api.If{Absent: true}))(t)
	}
	must(cloud.as(t, "t-policies").SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: "bucket--backups"}, Bound: "a"}))(t)
	network := must(admin.Networks().Create(ctx, &api.Network{CIDR: "10.9.0.0/16"}))(t)
	bucketOf(t, cloud.as(t, "t-of-a"))
	return &boundCloud{testCloud: cloud, a: cloud.as(t, "t-of-a"), zone: zone.ID, network: network.ID}
}

// boundTokens are those of seeds, with all roles, of which one each has a token, too.
var boundTokens = []Token{
	{Token: "t-of-a", Identity: "extensions-of-a", Seed: "a", Roles: ofSeeds},
	{Token: "t-of-b", Identity: "extensions-of-b", Seed: "b", Roles: ofSeeds},
	{Token: "t-gardenlet", Identity: "gardenlet-a", Seed: "a", Roles: []Role{RoleGardenlet}},
	{Token: "t-provider", Identity: "acme-a", Seed: "a", Roles: []Role{RoleProvider}},
	{Token: "t-backups", Identity: "backups-a", Seed: "a", Roles: []Role{RoleBackups}},
	{Token: "t-planes", Identity: "control-planes-a", Seed: "a", Roles: []Role{RoleControlPlane}},
	{Token: "t-roleless", Identity: "roleless-a", Seed: "a"},
	{Token: "t-policies", Identity: "garden", Roles: []Role{RolePolicies}},
	{Token: "t-nobody", Identity: "nobody"},
}
