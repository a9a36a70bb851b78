package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
)

// expectation says how the cloud meets the attacks of an identity.
type expectation struct {
	// roles are what its roles allow, as "<verb> <kind>", of what the attacks call.
	roles []string
	// work are the beginnings of the names of attacks that are none: it is there to do this.
	work []string
	// refusal of what its roles allow; empty for the one of the attack.
	refusal string
}

// What roles allow, of what the attacks call.
var (
	roleGardenlet = []string{"get machines", "put records", "get objects", "list objects", "put objects", "delete objects"}
	roleProvider  = []string{"get machines", "create networks", "delete machines", "put records", "delete records",
		"create buckets", "list objects", "delete objects"}
	roleControlPlane = []string{"get machines", "delete machines", "get objects", "list objects", "put objects",
		"delete objects"}
	roleObserver = []string{"get machines", "get objects", "list objects"}
	roleNone     = []string{"get machines"}
)

// expectations of all identities that a landscape with the seeds a and b has in the cloud. The victim is seed b's.
var expectations = map[string]expectation{
	"gardenlet-a":      {roles: roleGardenlet},
	"extensions-a":     {roles: roleProvider},
	"control-planes-a": {roles: roleNone},
	"gardenlet-b": {roles: roleGardenlet, work: []string{"overwrite its backup", "delete its backup", "read its backup",
		"list its backups"}},
	"extensions-b": {roles: roleProvider, work: []string{"take its name", "remove its name", "delete its machine",
		"delete its backup", "list its backups"}},
	"control-planes-b":          {roles: roleNone},
	constants.SeedOutside:       {roles: roleNone},
	"garden-controller-manager": {work: []string{"bind it elsewhere"}},
	"nodes":                     {roles: roleNone, work: []string{"read what its machine boots with"}},
	"observer":                  {roles: roleObserver, work: []string{"read its backup", "list its backups"}},
}

// cloudAdmin is the identity of the harness that may do everything. No actor has its token.
const cloudAdmin = "admin"

// cloudIdentities are those of the landscape, by name.
func (a *attacked) cloudIdentities(t *testing.T) map[string]simcloud.Token {
	t.Helper()
	return tokensOfCloud(t, a.landscape.Dir())
}

// tokensOfCloud of a landscape, by the names of their identities.
func tokensOfCloud(t *testing.T, dir rundir.Dir) map[string]simcloud.Token {
	t.Helper()
	content, err := os.ReadFile(dir.Join("cloud-tokens.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, all := simcloud.TokenFile{}, map[string]simcloud.Token{}
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		t.Fatal(err)
	}
	for _, token := range file.Tokens {
		all[token.Identity] = token
	}
	return all
}

// ofCloud says whether a token is one of these of the cloud, or made of one.
func ofCloud(token string, known map[string]bool) bool {
	plain, _, err := cloud.SplitToken(token)
	if err != nil {
		return false
	}
	_, shoot, confined := cloud.SplitConfined(plain)
	if !confined {
		return known[plain]
	}
	for of := range known {
		if plain == cloud.ConfinedToken(of, shoot) {
			return true
		}
	}
	return false
}

// onCloud are the attacks with the token of each identity that there is, and with those that control planes of other
// shoots have, on the victim's seed and on the other.
func (a *attacked) onCloud(t *testing.T) map[string][]attack {
	t.Helper()
	all, identities := map[string][]attack{}, a.cloudIdentities(t)
	for name := range expectations {
		if _, there := identities[name]; !there {
			t.Errorf("the landscape has no identity %s in the cloud", name)
		}
	}
	for name, token := range identities {
		expected, known := expectations[name]
		switch {
		case name == cloudAdmin:
			continue
		case !known:
			t.Errorf("nothing says what %s may do in the cloud", name)
			continue
		}
		all["the cloud, as "+name] = a.cloudAs(t, token.Token, expected)
		if strings.HasPrefix(name, "control-planes-") || name == constants.SeedOutside {
			of := expectation{roles: roleControlPlane, refusal: name + " may not"}
			all["the cloud, as the control plane of another shoot on "+token.Seed] = a.cloudAs(t,
				cloud.ConfinedToken(token.Token, technicalID(decoy)), of)
		}
	}
	return all
}

// inCloud collects what is tried at the cloud with one token.
type inCloud struct {
	*cloud.Client
	expectation
	attacks []attack
}

// try what calls a verb of a kind; text is in the refusal for who may call it.
func (c *inCloud) try(name, right, text string, send func(context.Context) error) {
	refused := unauthorized("may not " + right)
	if slices.Contains(c.roles, right) {
		if c.refusal != "" {
			text = c.refusal
		}
		refused = unauthorized(text)
	}
	c.add(name, refused, send)
}

func (c *inCloud) add(name string, refused func(error) error, send func(context.Context) error) {
	if !slices.ContainsFunc(c.work, func(work string) bool { return strings.HasPrefix(name, work) }) {
		c.attacks = append(c.attacks, attack{name: name, refused: refused, send: send})
	}
}

// cloudAs somebody with a token.
func (a *attacked) cloudAs(t *testing.T, token string, expected expectation) []attack {
	t.Helper()
	config := &rest.Config{Host: "https://" + a.landscape.Slot().Cloud().String(), BearerToken: token}
	config.Insecure = true // an attacker does not mind
	client, err := cloud.New(config, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &inCloud{Client: client, expectation: expected}
	a.onEpoch(c)
	a.onPolicies(c)
	a.onRecords(c)
	a.onResources(c)
	a.onBackups(c)
	shown := says("nothing", isHidden, "")
	if !slices.Contains(c.roles, "get machines") {
		shown = unauthorized("may not get machines")
	}
	c.add("read what its machine boots with", shown, func(ctx context.Context) error {
		machine, err := c.Machines().Get(ctx, a.machine)
		if err == nil && machine.UserData == "" {
			err = errHidden
		}
		return err
	})
	return c.attacks
}

// onEpoch of the victim in the cloud, and on the cloud itself.
func (a *attacked) onEpoch(c *inCloud) {
	epoch := a.before.Validity.Epoch
	next := cloud.Scope{Shoot: technicalID(victim), Epoch: epoch + 1}
	c.try("fence the shoot", "fence fences", "", func(ctx context.Context) error {
		_, err := c.Fence(ctx, next)
		return err
	})
	c.try("fence it by a call", "create networks", fmt.Sprintf("its owner record gives seed 'b' epoch %d", epoch),
		func(ctx context.Context) error {
			_, err := c.WithScope(next).Networks().Create(ctx, &cloud.Network{CIDR: "10.0.0.0/16"})
			return err
		})
	c.try("break the cloud", "set faults", "", func(ctx context.Context) error {
		_, err := c.SetFault(ctx, cloud.Fault{Meta: cloud.Meta{ID: "attack"}, Effect: cloud.Effect{Missing: true}})
		return err
	})
	c.add("copy the cloud", unauthorized(""), func(ctx context.Context) error {
		_, err := c.Snapshot(ctx)
		return err
	})
}

// onPolicies, by which the garden says who may do what.
func (a *attacked) onPolicies(c *inCloud) {
	for name, id := range map[string]string{
		"bind it elsewhere": technicalID(victim), "bind it elsewhere, with its backups": cloud.BucketPolicy(a.bucket),
	} {
		c.try(name, "set policies", "", func(ctx context.Context) error {
			_, err := c.SetPolicy(ctx, cloud.Policy{Meta: cloud.Meta{ID: id}, Bound: "a"})
			return err
		})
	}
}

// onRecords of the victim in DNS, and on those that would answer for its names.
func (a *attacked) onRecords(c *inCloud) {
	records, epoch := c.Records(a.zone), a.before.Validity.Epoch
	put := func(name, kind, record, value, text string) {
		set := &cloud.RecordSet{Name: record, Type: kind, TTL: 1, Values: []string{value}}
		c.try(name, "put records", text, func(ctx context.Context) error {
			_, err := records.Put(ctx, set, cloud.If{})
			return err
		})
	}
	own := func(name string, at int64) {
		put(name, cloud.RecordTXT, ownerName(victim), fmt.Sprintf("owner=somebody epoch=%d seed=a", at), "the owner record")
	}
	remove := func(name, kind, record, text string) {
		c.try(name, "delete records", text, func(ctx context.Context) error {
			return records.Delete(ctx, kind, record, cloud.If{})
		})
	}
	names := "which is seed 'b's"
	if slices.Equal(c.roles, roleGardenlet) {
		names = "owner records only"
	}
	project := strings.SplitN(apiName(victim), ".", 3)[2]
	put("take its name", cloud.RecordA, apiName(victim), "127.0.0.1", names)
	put("answer for its project", cloud.RecordA, "*."+project, "127.0.0.1", "above the names of shoots")
	remove("remove its name", cloud.RecordA, apiName(victim), names)
	own("take it over with its epoch", epoch)
	own("take it over with a jump", epoch+1_000_000)
	own("take it over with the next epoch", epoch+1)
	remove("remove its owner record", cloud.RecordTXT, ownerName(victim), "only a gardenlet may")
}

// unauthorized is the cloud's word to who is known and may not.
func unauthorized(text string) func(error) error {
	return says("Unauthorized", func(err error) bool { return cloud.CodeOf(err) == cloud.CodeUnauthorized }, text)
}

// onResources of the victim in the cloud, in whosever name the calls are made.
func (a *attacked) onResources(c *inCloud) {
	for name, scope := range map[string]cloud.Scope{
		"in nobody's name": {}, "in its name": {Shoot: technicalID(victim)},
		"in its name and epoch":        {Shoot: technicalID(victim), Epoch: a.before.Validity.Epoch},
		"in the name of its own shoot": {Shoot: technicalID(decoy), Epoch: 1},
	} {
		scoped := c.WithScope(scope)
		try := func(what, right string, send func(context.Context) error) {
			c.try(what+" "+name, right, "seed 'b's", send)
		}
		try("delete its machine", "delete machines", func(ctx context.Context) error {
			return scoped.Machines().Delete(ctx, a.machine)
		})
		try("reboot its machine", "reboot machines", func(ctx context.Context) error {
			_, err := scoped.RebootMachine(ctx, a.machine)
			return err
		})
		try("overwrite its backup", "put objects", func(ctx context.Context) error {
			_, err := scoped.Bucket(a.bucket).Put(ctx, a.backup, strings.NewReader("nothing"), cloud.PutOptions{})
			return err
		})
		try("delete its backup", "delete objects", func(ctx context.Context) error {
			return scoped.Bucket(a.bucket).Delete(ctx, a.backup)
		})
	}
}

// onBackups of the victim, to read them, and on the names of buckets.
func (a *attacked) onBackups(c *inCloud) {
	folder, _, _ := strings.Cut(a.backup, "/")
	c.try("read its backup", "get objects", "seed 'b's", func(ctx context.Context) error {
		_, err := c.Bucket(a.bucket).Read(ctx, a.backup)
		return err
	})
	c.try("list its backups", "list objects", "seed 'b's", func(ctx context.Context) error {
		_, err := c.Bucket(a.bucket).List(ctx, cloud.ListOptions{Prefix: folder + "/"})
		return err
	})
	c.try("take the name of a bucket", "create buckets", "the bucket 'of-a-seed-to-come'",
		func(ctx context.Context) error {
			_, err := c.Buckets().Create(ctx, &cloud.Bucket{Name: "of-a-seed-to-come"})
			return err
		})
}

var errHidden = errors.New("the cloud does not show it")

func isHidden(err error) bool { return errors.Is(err, errHidden) }
