package cloud

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// situation of the shoot alpha: which seed DNS names, with epoch 5, and which one the garden has bound it to.
type situation struct {
	decided, bound string
	free           bool // the garden knows no such shoot
}

// world is a cloud in a situation. What is there of the shoot was made in its scope, or carries its tag.
type world struct {
	*testCloud
	keeper                                   *api.Client
	zone                                     *api.Zone
	network, spare, tagged, other            string
	subnet, machine, mortal, volume, loadBal string
}

func startWorld(t *testing.T, s situation) *world {
	t.Helper()
	cloud := start(t, Options{Tokens: tokenFile(t, boundTokens...)})
	ctx, admin := t.Context(), cloud.as(t, "admin")
	w := &world{testCloud: cloud, keeper: cloud.as(t, "t-policies")}
	scoped := admin.WithScope(api.Scope{Shoot: alphaID})
	w.zone = must(admin.Zones().Create(ctx, &api.Zone{Name: "example.test"}))(t)
	w.network = must(scoped.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t).ID
	w.tagged = must(admin.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16", Tags: tagOfAlpha}))(t).ID
	w.spare = must(scoped.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t).ID
	w.other = must(admin.Networks().Create(ctx, &api.Network{CIDR: "10.7.0.0/16"}))(t).ID
	w.subnet = must(admin.Subnets().Create(ctx, &api.Subnet{NetworkID: w.tagged, CIDR: "10.0.0.0/20"}))(t).ID
	w.machine = must(admin.Machines().Create(ctx, &api.Machine{Type: "small", SubnetID: w.subnet, Zone: "z"}))(t).ID
	w.mortal = must(admin.Machines().Create(ctx, &api.Machine{Type: "small", SubnetID: w.subnet, Zone: "z"}))(t).ID
	w.volume = must(admin.Volumes().Create(ctx, &api.Volume{Size: "1Gi", Zone: "z", MachineID: w.machine}))(t).ID
	w.loadBal = must(scoped.LoadBalancers().Create(ctx, &api.LoadBalancer{}))(t).ID
	for _, name := range []string{"api.shop.example.test", "api.old.example.test"} {
		must(scoped.Records(w.zone.ID).Put(ctx, addressOf(name), api.If{}))(t)
	}
	for bucket, seed := range map[string]string{"backups-of-a": "a", "backups-of-b": "b", "another": "a", "others": "b"} {
		must(w.keeper.SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: api.BucketPolicy(bucket)}, Bound: seed}))(t)
	}
	for _, seed := range []string{"a", "b"} {
		of := cloud.as(t, "t-of-"+seed)
		must(of.Buckets().Create(ctx, &api.Bucket{Name: "backups-of-" + seed}))(t)
		for _, key := range []string{"old", "older", "kept"} {
			must(of.Bucket("backups-of-"+seed).Put(ctx, alphaID+"--uid/"+key, strings.NewReader("x"), api.PutOptions{}))(t)
		}
	}
	if s.decided != "" {
		must(admin.Records(w.zone.ID).Put(ctx, ownerOf(ofAlpha, s.decided, 5), api.If{}))(t)
	}
	if !s.free {
		must(cloud.as(t, "t-policies").SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: alphaID}, Bound: s.bound}))(t)
	}
	return w
}

type rightsCall func(ctx context.Context, w *world, c *api.Client) error

func errorOf[T any](_ T, err error) error { return err }

var tagOfAlpha = map[string]string{"transplant.dev/shoot": alphaID}

func addressOf(name string) *api.RecordSet {
	return &api.RecordSet{Name: name, Type: api.RecordA, Values: []string{"127.0.0.9"}}
}

func in(epoch int64, call rightsCall) rightsCall {
	return func(ctx context.Context, w *world, c *api.Client) error {
		return call(ctx, w, c.WithScope(api.Scope{Shoot: alphaID, Epoch: epoch}))
	}
}

// acts change what is of the shoot, each in another way.
var acts = map[string]rightsCall{
	"create in its epoch": in(5, func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Networks().Create(ctx, &api.Network{CIDR: "10.1.0.0/16"}))
	}),
}

// quiet ones do it without an epoch.
var quiet = map[string]rightsCall{
	"create in its scope": in(0, func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Networks().Create(ctx, &api.Network{CIDR: "10.1.0.0/16"}))
	}),
	"create with its tag": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Machines().Create(ctx, &api.Machine{Type: "small", Tags: tagOfAlpha}))
	},
	"create in its network": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Routers().Create(ctx, &api.Router{NetworkID: w.network}))
	},
	"create in its subnet": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Machines().Create(ctx, &api.Machine{Type: "small", SubnetID: w.subnet}))
	},
	"create under its name": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.KeyPairs().Create(ctx, &api.KeyPair{Name: alphaID, PublicKey: "x"}))
	},
	"attach to its machine": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Volumes().Create(ctx, &api.Volume{Size: "1Gi", Zone: "z", MachineID: w.machine}))
	},
	"give its tag": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Networks().Update(ctx, w.other, &api.Network{CIDR: "10.7.0.0/16", Tags: tagOfAlpha}))
	},
	"take its tag off": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Networks().Update(ctx, w.tagged, &api.Network{CIDR: "10.0.0.0/16"}))
	},
	"detach its volume": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Volumes().Update(ctx, w.volume, &api.Volume{Size: "1Gi", Zone: "z"}))
	},
	"delete what was made for it": func(ctx context.Context, w *world, c *api.Client) error {
		return c.Networks().Delete(ctx, w.spare)
	},
	"delete its load balancer": func(ctx context.Context, w *world, c *api.Client) error {
		return c.LoadBalancers().Delete(ctx, w.loadBal)
	},
	"end its machine": func(ctx context.Context, w *world, c *api.Client) error {
		return c.Machines().Delete(ctx, w.mortal)
	},
	"point its name": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Records(w.zone.ID).Put(ctx, addressOf("api.alpha.p.example.test"), api.If{}))
	},
	"point its own domain": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Records(w.zone.ID).Put(ctx, addressOf("api.shop.example.test"), api.If{}))
	},
	"remove its own domain": func(ctx context.Context, w *world, c *api.Client) error {
		return c.Records(w.zone.ID).Delete(ctx, api.RecordA, "api.old.example.test", api.If{})
	},
}

var takeOver = map[string]rightsCall{
	"write the owner record": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Records(w.zone.ID).Put(ctx, ownerOf(ofAlpha, "a", 6), api.If{}))
	},
}

// foreign backups are those of the shoot in another seed's bucket.
var foreign = map[string]rightsCall{
	"write another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		key := alphaID + "--uid/epochs/9.json"
		return errorOf(c.Bucket("backups-of-b").Put(ctx, key, strings.NewReader("x"), api.PutOptions{}))
	},
	"empty another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return c.Bucket("backups-of-b").Delete(ctx, alphaID+"--uid/old")
	},
	"copy within another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return copyOf(ctx, c, "backups-of-b", "backups-of-b", alphaID+"--uid/copy")
	},
	"empty another's bucket in a batch": func(ctx context.Context, _ *world, c *api.Client) error {
		return c.Bucket("backups-of-b").DeleteAll(ctx, alphaID+"--uid/older")
	},
	"read another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-b").Read(ctx, alphaID+"--uid/kept"))
	},
	"describe what is in another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-b").Head(ctx, alphaID+"--uid/kept"))
	},
	"list another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-b").List(ctx, api.ListOptions{Prefix: alphaID + "--uid/"}))
	},
}

var harmless = map[string]rightsCall{
	"read": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Records(w.zone.ID).List(ctx))
	},
	"make a thing of no shoot": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Networks().Create(ctx, &api.Network{CIDR: "10.2.0.0/16"}))
	},
	"make a bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Buckets().Create(ctx, &api.Bucket{Name: "another"}))
	},
	"upload to its bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-a").Put(ctx, alphaID+"--uid/last", strings.NewReader("x"), api.PutOptions{}))
	},
	"copy within its bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return copyOf(ctx, c, "backups-of-a", "backups-of-a", alphaID+"--uid/copy")
	},
	"empty its bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return c.Bucket("backups-of-a").Delete(ctx, alphaID+"--uid/old")
	},
	"read its bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-a").Read(ctx, alphaID+"--uid/kept"))
	},
	"list its bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-a").List(ctx, api.ListOptions{Prefix: alphaID + "--uid/"}))
	},
	"list all of its bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-a").List(ctx, api.ListOptions{}))
	},
}

// copyOf copies what is kept of the shoot, or returns why it was refused.
func copyOf(ctx context.Context, c *api.Client, from, to, key string) error {
	const digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // of x
	results, err := c.Bucket(to).Batch(ctx, []api.BatchCall{{Key: key,
		Copy: &api.CopySource{Bucket: from, Key: alphaID + "--uid/kept", Digest: digest}}})
	return errors.Join(append(results, err)...)
}

// operators' are what no seed may ever do.
var operators = map[string]rightsCall{
	"fence with its epoch": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Fence(ctx, api.Scope{Shoot: alphaID, Epoch: 5}))
	},
	"restart its machine": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.RebootMachine(ctx, w.machine))
	},
	"make another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Buckets().Create(ctx, &api.Bucket{Name: "others"}))
	},
	"make a bucket that is no seed's": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Buckets().Create(ctx, &api.Bucket{Name: "nobodys"}))
	},
	"list all of another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-b").List(ctx, api.ListOptions{}))
	},
	"list what begins like its folder in another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-b").List(ctx, api.ListOptions{Prefix: alphaID + "--u"}))
	},
	"point a wildcard of all shoots": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Records(w.zone.ID).Put(ctx, addressOf("*.p.example.test"), api.If{}))
	},
	"make a zone": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Zones().Create(ctx, &api.Zone{Name: "alpha.p.example.test"}))
	},
	"change a zone": func(ctx context.Context, w *world, c *api.Client) error {
		return errorOf(c.Zones().Update(ctx, w.zone.ID, &api.Zone{Name: w.zone.Name, NegativeTTL: 9}))
	},
	"change another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Buckets().Update(ctx, "backups-of-b", &api.Bucket{Name: "backups-of-b", Tags: tagOfAlpha}))
	},
	"copy to a place of no shoot in another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return copyOf(ctx, c, "backups-of-b", "backups-of-b", "y")
	},
	"write a place of no shoot in another's bucket": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.Bucket("backups-of-b").Put(ctx, "x", strings.NewReader("x"), api.PutOptions{}))
	},
}

var policies = map[string]rightsCall{
	"bind": func(ctx context.Context, _ *world, c *api.Client) error {
		return errorOf(c.SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: alphaID}, Bound: "a"}))
	},
	"release": func(ctx context.Context, w *world, c *api.Client) error {
		if _, err := w.keeper.SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: alphaID}}); err != nil {
			return err
		}
		return c.DeletePolicy(ctx, alphaID)
	},
}

func all(groups ...map[string]rightsCall) map[string]rightsCall {
	calls := map[string]rightsCall{}
	for _, group := range groups {
		maps.Copy(calls, group)
	}
	return calls
}

// Who may do what for a shoot. The token of a seed is always a's.
func TestRights_EachCallOfEachIdentity_OnlyWhatItMay(t *testing.T) {
	t.Parallel()
	everyday, afterwards := all(acts, quiet, takeOver, foreign, harmless), all(acts, quiet, foreign, harmless)
	everything := all(acts, quiet, takeOver, foreign, harmless, operators, policies)
	observers := only("read", "read its bucket", "list its bucket", "list all of its bucket", "read another's bucket",
		"describe what is in another's bucket", "list another's bucket", "list all of another's bucket",
		"list what begins like its folder in another's bucket")
	for name, test := range map[string]struct {
		situation
		token   string
		allowed map[string]rightsCall
	}{
		"the owner":                          {situation{"a", "a", false}, "t-of-a", everyday},
		"the owner, whose shoot is to move":  {situation{"a", "b", false}, "t-of-a", afterwards},
		"the owner, lost":                    {situation{"a", "", false}, "t-of-a", afterwards},
		"the owner, which the garden forgot": {situation{"a", "", true}, "t-of-a", afterwards},
		"the destination":                    {situation{"b", "a", false}, "t-of-a", all(takeOver, foreign, harmless)},
		"the first owner": {situation{"", "a", false}, "t-of-a",
			all(quiet, takeOver, foreign, harmless)},
		"another":                            {situation{"b", "b", false}, "t-of-a", harmless},
		"another, of a shoot without owner":  {situation{"", "b", false}, "t-of-a", harmless},
		"another, of a shoot of a lost seed": {situation{"b", "", false}, "t-of-a", harmless},
		"the garden":                         {situation{"b", "b", false}, "t-policies", policies},
		"an operator":                        {situation{"b", "b", false}, "admin", everything},
		"the observer":                       {situation{"b", "b", false}, "observer", observers},
		"the nodes":                          {situation{"b", "b", false}, "nodes", only("read")},
		"somebody without a role":            {situation{"b", "b", false}, "t-nobody", only("read")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tryAll(t, test.situation, test.token, test.allowed)
		})
	}
}

// tryAll calls with a token in a situation: those that are allowed take effect, all others are refused.
func tryAll(t *testing.T, s situation, token string, allowed map[string]rightsCall) {
	t.Helper()
	for _, one := range []map[string]rightsCall{all(acts, quiet, foreign, harmless, operators), takeOver, policies} {
		w := startWorld(t, s)
		for _, name := range slices.Sorted(maps.Keys(one)) {
			err := one[name](t.Context(), w, w.as(t, token))
			if _, may := allowed[name]; may && err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !may && api.CodeOf(err) != api.CodeUnauthorized {
				t.Errorf("%s: it ends with %v, want it unauthorized", name, err)
			}
		}
		w.stop()
	}
}

// only these calls, of all that there are.
func only(names ...string) map[string]rightsCall {
	calls, every := map[string]rightsCall{}, all(acts, quiet, takeOver, foreign, harmless, operators, policies)
	for _, name := range names {
		if calls[name] = every[name]; calls[name] == nil {
			panic("there is no call " + name)
		}
	}
	return calls
}

// What each role of a seed is good for, on the seed that owns the shoot.
func TestRights_EachRoleOfTheOwner_OnlyWhatItsActorNeeds(t *testing.T) {
	t.Parallel()
	content := only("upload to its bucket", "read its bucket", "list its bucket", "empty its bucket",
		"copy within its bucket", "write another's bucket", "copy within another's bucket", "read another's bucket",
		"describe what is in another's bucket", "list another's bucket", "empty another's bucket",
		"empty another's bucket in a batch")
	for name, test := range map[string]struct {
		token   string
		allowed map[string]rightsCall
	}{
		"gardenlet": {"t-gardenlet", all(only("read", "list all of its bucket"), content, takeOver)},
		"provider":  {"t-provider", all(only("read", "make a thing of no shoot"), acts, quiet)},
		"backups": {"t-backups", only("read", "make a bucket", "list its bucket", "list all of its bucket",
			"empty its bucket", "list another's bucket", "empty another's bucket", "empty another's bucket in a batch")},
		"control plane": {api.ConfinedToken("t-planes", alphaID), all(content, only("read", "create with its tag",
			"create in its subnet", "attach to its machine", "detach its volume", "delete its load balancer",
			"end its machine"))},
		"control plane of a neighbour":       {api.ConfinedToken("t-planes", betaID), only("read")},
		"control plane, not confined":        {"t-planes", only("read")},
		"provider, confined to a neighbour":  {api.ConfinedToken("t-provider", betaID), only("read")},
		"gardenlet, confined to a neighbour": {api.ConfinedToken("t-gardenlet", betaID), only("read")},
		"none":                               {"t-roleless", only("read")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tryAll(t, situation{"a", "a", false}, test.token, test.allowed)
		})
	}
}

// A confined token is made with the token that it is of, and with no other.
func TestConfinedTokens_Forged_AreUnknown(t *testing.T) {
	t.Parallel()
	w := startWorld(t, situation{"a", "a", false})
	good, ofB := api.ConfinedToken("t-planes", alphaID), api.ConfinedToken("t-of-b", alphaID)
	for name, token := range map[string]string{
		"for another shoot":     strings.Replace(good, alphaID, betaID, 1),
		"with a guessed digest": good[:len(good)-64] + strings.Repeat("0", 64),
		"of another token":      strings.Replace(ofB, api.TokenName("t-of-b"), api.TokenName("t-planes"), 1),
		"of a confined one":     api.ConfinedToken(good, betaID),
		"of no seed's":          api.ConfinedToken("t-admin", alphaID),
		"cut short":             strings.TrimSuffix(good, good[len(good)-1:]),
	} {
		if err := acts["create in its epoch"](t.Context(), w, w.as(t, token)); api.CodeOf(err) != api.CodeUnauthenticated {
			t.Errorf("%s: it ends with %v", name, err)
		}
	}
}

// Whoever has the token of one shoot acts in the name of no other, even if both are of one seed and what it changes is
// of its own shoot.
func TestConfinedTokens_InTheScopeOfANeighbour_AreRefused(t *testing.T) {
	t.Parallel()
	w := startWorld(t, situation{"a", "a", false})
	must(w.as(t, "admin").Records(w.zone.ID).Put(t.Context(), ownerOf(ofBeta, "a", 1), api.If{}))(t)
	token := api.ConfinedToken("t-planes", alphaID)
	put := func(c *api.Client) error {
		object := c.Bucket("backups-of-a")
		return errorOf(object.Put(t.Context(), alphaID+"--uid/last", strings.NewReader("x"), api.PutOptions{}))
	}
	if err := put(w.as(t, token).WithScope(api.Scope{Shoot: alphaID, Epoch: 5})); err != nil {
		t.Errorf("in the scope of its own shoot: %v", err)
	}
	neighbour := api.Scope{Shoot: betaID, Epoch: 1}
	wantCode(t, put(w.as(t, token).WithScope(neighbour)), api.CodeUnauthorized)
	wantCode(t, put(w.as(t, api.ScopedToken(token, neighbour))), api.CodeUnauthorized)
}

// A batch is refused as its calls are if none of them is allowed, and otherwise answers each.
func TestRights_Batch_IsForbiddenIfAllOfItIs(t *testing.T) {
	t.Parallel()
	w := startWorld(t, situation{"a", "a", false})
	must(w.as(t, "admin").Records(w.zone.ID).Put(t.Context(), ownerOf(ofBeta, "a", 1), api.If{}))(t)
	object := betaID + "--uid/none"
	must(w.as(t, "admin").Bucket("backups-of-a").Put(t.Context(), object, strings.NewReader("x"), api.PutOptions{}))(t)
	bucket := w.as(t, api.ConfinedToken("t-planes", alphaID)).WithScope(api.Scope{Shoot: alphaID, Epoch: 5}).
		Bucket("backups-of-a")
	own, foreign := api.BatchCall{Key: alphaID + "--uid/none"}, api.BatchCall{Key: object}
	_, err := bucket.Batch(t.Context(), []api.BatchCall{foreign, foreign})
	wantCode(t, err, api.CodeUnauthorized)
	results := must(bucket.Batch(t.Context(), []api.BatchCall{foreign, own}))(t)
	if len(results) != 2 {
		t.Fatalf("two calls have %d results", len(results))
	}
	wantCode(t, results[0], api.CodeUnauthorized)
	wantCode(t, results[1], api.CodeNotFound)
}

// A backup that its writer may not write is refused before it takes up the disk.
func TestRights_UploadOfAnother_IsNotReceived(t *testing.T) {
	t.Parallel()
	w := startWorld(t, situation{"b", "b", false})
	object := "/buckets/backups-of-b/objects/" + alphaID + "--uid/last"
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPut, object, &failing{})
	request.Header.Set("Authorization", "Bearer t-of-a")
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, request)
	if answer.Code != http.StatusForbidden {
		t.Errorf("it ends with %d: %s", answer.Code, answer.Body)
	}
}

// A file of tokens that gives what nobody can have is refused.
func TestTokenFile_RolesThatCannotBe_AreRefused(t *testing.T) {
	t.Parallel()
	for want, token := range map[string]Token{
		`there is no role "owner"`:          {Token: "t", Identity: "i", Roles: []Role{"owner"}},
		`the role "gardenlet" needs a seed`: {Token: "t", Identity: "i", Roles: []Role{RoleGardenlet}},
		"token and identity are required":   {Token: "t"},
		`the role "bucket" needs a bucket`:  {Token: "t", Identity: "i", Roles: []Role{RoleBucket}},
	} {
		if _, err := newIdentities(tokenFile(t, token)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: it ends with %v, want %q", token, err, want)
		}
	}
}

// A token of one bucket makes it and keeps what is in it, and does nothing else.
func TestRights_TokenOfOneBucket_IsGoodForNoOther(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cloud := start(t, Options{Tokens: tokenFile(t, Token{Token: "t-admin", Identity: "admin", Roles: []Role{RoleAdmin}},
		Token{Token: "t-garden", Identity: "garden-backup", Bucket: "garden", Roles: []Role{RoleBucket}})})
	admin, garden := cloud.as(t, "t-admin"), cloud.as(t, "t-garden")
	must(admin.Buckets().Create(ctx, &api.Bucket{Name: "others"}))(t)
	must(admin.Bucket("others").Put(ctx, "key", strings.NewReader("x"), api.PutOptions{}))(t)
	must(garden.Buckets().Create(ctx, &api.Bucket{Name: "garden"}))(t)
	must(garden.Bucket("garden").Put(ctx, "key", strings.NewReader("x"), api.PutOptions{}))(t)
	must(garden.Bucket("garden").Read(ctx, "key"))(t)
	if err := garden.Bucket("garden").Delete(ctx, "key"); err != nil {
		t.Error(err)
	}
	for what, call := range map[string]func() error{
		"create a bucket": func() error { _, err := garden.Buckets().Create(ctx, &api.Bucket{Name: "more"}); return err },
		"delete its own":  func() error { return garden.Buckets().Delete(ctx, "garden") },
		"read":            func() error { _, err := garden.Bucket("others").Read(ctx, "key"); return err },
		"list":            func() error { _, err := garden.Bucket("others").List(ctx, api.ListOptions{}); return err },
		"put": func() error {
			_, err := garden.Bucket("others").Put(ctx, "k", strings.NewReader("x"), api.PutOptions{})
			return err
		},
		"delete": func() error { return garden.Bucket("others").Delete(ctx, "key") },
		"make a network": func() error {
			_, err := garden.Networks().Create(ctx, &api.Network{CIDR: "10.1.0.0/16"})
			return err
		},
	} {
		if err := call(); api.CodeOf(err) != api.CodeUnauthorized {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// An owner whom another has superseded in DNS is of old, before the cloud has heard of the other's epoch: whoever waits
// where the cloud says so goes on to wait.
func TestRights_EpochSupersededInDNS_IsStale(t *testing.T) {
	t.Parallel()
	w := startWorld(t, situation{"b", "b", false})
	old := w.as(t, "t-of-a").WithScope(api.Scope{Shoot: alphaID, Epoch: 4})
	_, err := old.Networks().Create(t.Context(), &api.Network{CIDR: "10.1.0.0/16"})
	wantCode(t, err, api.CodeStaleEpoch)
}

// What the cloud knows about the shoots of things outlives it.
func TestRights_AfterARestart_AreTheSame(t *testing.T) {
	t.Parallel()
	w := startWorld(t, situation{"b", "b", false})
	dir := w.dir
	w.stop()
	w.testCloud = start(t, Options{Dir: dir, Tokens: tokenFile(t, boundTokens...)})
	a := w.as(t, "t-of-a")
	for _, calls := range []map[string]rightsCall{quiet, foreign, takeOver} {
		for name, call := range calls {
			if err := call(t.Context(), w, a); api.CodeOf(err) != api.CodeUnauthorized {
				t.Errorf("%s: it ends with %v", name, err)
			}
		}
	}
	if err := harmless["upload to its bucket"](t.Context(), w, a); err != nil {
		t.Error(err)
	}
}

func TestPolicies_AreKeptByShoot(t *testing.T) {
	t.Parallel()
	cloud, ctx := start(t, Options{Tokens: tokenFile(t, boundTokens...)}), t.Context()
	garden := cloud.as(t, "t-policies")
	for _, id := range []string{"alpha", "shoot--p", "shoot----", "bucket--", "bucket--A"} {
		_, err := garden.SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: id}, Bound: "a"})
		wantCode(t, err, api.CodeInvalid)
	}
	must(garden.SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: alphaID}, Bound: "a"}))(t)
	must(garden.SetPolicy(ctx, api.Policy{Meta: api.Meta{ID: alphaID}, Bound: "b"}))(t)
	list := must(garden.Policies(ctx))(t)
	if len(list) != 1 || list[0].ID != alphaID || list[0].Bound != "b" || list[0].CreatedAt.IsZero() {
		t.Errorf("the policies are %+v", list)
	}
	if err := garden.DeletePolicy(ctx, alphaID); err != nil {
		t.Error(err)
	}
	wantCode(t, garden.DeletePolicy(ctx, alphaID), api.CodeNotFound)
	_, err := cloud.as(t, "t-of-a").Policies(ctx)
	wantCode(t, err, api.CodeUnauthorized)
}
