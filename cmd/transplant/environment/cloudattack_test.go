package environment

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
)

// cloudKit is the simulated cloud with the tokens of a landscape.
type cloudKit struct {
	url  string
	ca   []byte
	zone string
}

// startCloud with the owner records that the garden of the kit would have: moving is still a's, omega c's, which is
// lost.
func (k *kit) startCloud(t *testing.T) *cloudKit {
	t.Helper()
	file := simcloud.TokenFile{Tokens: []simcloud.Token{
		{Token: CloudAdmin, Identity: CloudAdmin, Roles: []simcloud.Role{simcloud.RoleAdmin}},
		{Token: gcm, Identity: gcm, Roles: []simcloud.Role{simcloud.RolePolicies}},
	}}
	for _, of := range []string{"a", "b", "c"} {
		for actor, roles := range seedActors(of) {
			file.Tokens = append(file.Tokens, simcloud.Token{Token: actor, Identity: actor, Seed: of, Roles: roles})
		}
	}
	content, err := json.Marshal(file)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := errors.Join(err, os.WriteFile(tokens, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	options := simcloud.Options{Dir: t.TempDir(), Tokens: tokens, Log: logr.Discard()}
	server, err := simcloud.Open(context.WithoutCancel(t.Context()), options)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(server.Handler())
	t.Cleanup(func() { web.Close(); _ = server.Close() })
	k.cloud = &cloudKit{url: web.URL, ca: certificate(web.Certificate())}
	admin := k.cloud.as(t, CloudAdmin)
	zone, err := admin.Zones().Create(t.Context(), &cloud.Zone{Name: Domain})
	if err != nil {
		t.Fatal(err)
	}
	k.cloud.zone = zone.ID
	owners := map[string]string{"alpha.p": "a", "beta.p": "b", "moving.p": "a", "gamma.q": "b", "omega.p": "c"}
	for shoot, of := range owners {
		if _, err := admin.Records(zone.ID).Put(t.Context(), ownerRecord(shoot, of, 3), cloud.If{}); err != nil {
			t.Fatal(err)
		}
	}
	return k.cloud
}

func certificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func ownerRecord(shoot, of string, epoch int) *cloud.RecordSet {
	value := fmt.Sprintf("owner=uid-of-%s epoch=%d seed=%s", of, epoch, of)
	return &cloud.RecordSet{Name: "owner." + shoot + "." + Domain, Type: cloud.RecordTXT, TTL: 1, Values: []string{value}}
}

func (c *cloudKit) as(t *testing.T, identity string) *cloud.Client {
	t.Helper()
	caller, err := cloud.New(&rest.Config{
		Host: c.url, BearerToken: identity, TLSClientConfig: rest.TLSClientConfig{CAData: c.ca},
	}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// An attack on the cloud with the token of each actor of a seed is refused, and what the seed is bound to its gardenlet
// may take over, and nobody else.
func TestAttacksOnTheCloud_WithEachToken_AreRefused(t *testing.T) {
	t.Parallel()
	k := startGardenKit(t)
	bound := map[string]string{
		"shoot--p--alpha": "a", "shoot--p--beta": "b", "shoot--p--moving": "b", "shoot--q--gamma": "b", "shoot--p--omega": "",
	}
	k.awaitPolicies(t, bound)
	ctx, epoch := t.Context(), map[string]int{}
	for _, test := range []struct {
		of   string
		mine []string // that it may take over
	}{{"a", []string{"alpha.p"}}, {"b", []string{"moving.p", "beta.p", "gamma.q"}}, {"c", nil}} {
		may := map[string]bool{}
		for _, shoot := range test.mine {
			may[shoot] = true
		}
		for _, actor := range credentialsOf(test.of) {
			c := k.cloud.as(t, actor)
			for _, shoot := range []string{"alpha.p", "beta.p", "moving.p", "gamma.q", "omega.p", "none.p"} {
				allowed := may[shoot] && actor == "gardenlet-"+test.of
				_, err := c.Records(k.cloud.zone).Put(ctx, ownerRecord(shoot, test.of, 4+epoch[shoot]), cloud.If{})
				if allowed && err != nil || !allowed && cloud.CodeOf(err) != cloud.CodeUnauthorized {
					t.Errorf("%s takes %s over: %v", actor, shoot, err)
				}
				if allowed {
					epoch[shoot]++
				}
			}
			_, err := c.SetPolicy(ctx, cloud.Policy{Meta: cloud.Meta{ID: "shoot--p--beta"}, Bound: test.of})
			if cloud.CodeOf(err) != cloud.CodeUnauthorized {
				t.Errorf("%s binds a shoot: %v", actor, err)
			}
		}
	}
	// A seed that is heard again may what it may in the garden.
	k.condition(t, "c", gardencorev1beta1.ConditionTrue)
	bound["shoot--p--omega"] = "c"
	k.awaitPolicies(t, bound)
	records := k.cloud.as(t, "gardenlet-c").Records(k.cloud.zone)
	if _, err := records.Put(ctx, ownerRecord("omega.p", "c", 4), cloud.If{}); err != nil {
		t.Errorf("a seed that is heard again takes its shoot over: %v", err)
	}
}

// credentialsOf a seed are its actors' tokens, and those that its control planes have, of one shoot each.
func credentialsOf(seed string) []string {
	tokens := slices.Sorted(maps.Keys(seedActors(seed)))
	for _, shoot := range []string{"shoot--p--alpha", "shoot--p--beta", "shoot--p--moving", "shoot--p--omega"} {
		tokens = append(tokens, cloud.ConfinedToken("control-planes-"+seed, shoot))
	}
	return tokens
}

// The token in the namespace of a shoot's control plane is good for that shoot's machines and backups, and for none of
// another shoot on the same seed.
func TestControlPlanes_TokenOfOneShoot_DoesNothingToItsNeighbour(t *testing.T) {
	t.Parallel()
	k := startGardenKit(t)
	k.awaitPolicies(t, map[string]string{
		"shoot--p--alpha": "a", "shoot--p--beta": "b", "shoot--p--moving": "b", "shoot--q--gamma": "b", "shoot--p--omega": "",
	})
	ctx := t.Context()
	seed := &gardencorev1beta1.Seed{}
	if err := k.admin.Get(ctx, client.ObjectKey{Name: "b"}, seed); err != nil {
		t.Fatal(err)
	}
	bucket := string(seed.UID)
	if _, err := k.cloud.as(t, "extensions-b").Buckets().Create(ctx, &cloud.Bucket{Name: bucket}); err != nil {
		t.Fatalf("a seed makes its bucket: %v", err)
	}
	for _, shoot := range []string{"shoot--p--beta", "shoot--q--gamma"} {
		for _, of := range []string{"shoot--p--beta", "shoot--q--gamma"} {
			c := k.cloud.as(t, cloud.ConfinedToken("control-planes-b", shoot))
			key := of + "--uid/etcd-main/from-" + shoot
			machine := &cloud.Machine{Type: "small", Tags: map[string]string{"transplant.dev/shoot": of}}
			_, made := c.Machines().Create(ctx, machine)
			_, saved := c.Bucket(bucket).Put(ctx, key, strings.NewReader("x"), cloud.PutOptions{})
			_, listed := c.Bucket(bucket).List(ctx, cloud.ListOptions{Prefix: of + "--uid/"})
			for what, err := range map[string]error{"makes a machine": made, "saves": saved, "lists": listed} {
				if own := shoot == of; own && err != nil || !own && cloud.CodeOf(err) != cloud.CodeUnauthorized {
					t.Errorf("the control plane of %s %s for %s: %v", shoot, what, of, err)
				}
			}
		}
	}
}

func (k *kit) awaitPolicies(t *testing.T, want map[string]string) {
	t.Helper()
	k.await(t, "the policies of the cloud", func(ctx context.Context) error {
		policies, err := k.cloud.as(t, gcm).Policies(ctx)
		got := map[string]string{}
		for _, policy := range policies {
			if _, ofBucket := cloud.PolicyBucket(policy.ID); !ofBucket {
				got[policy.ID] = policy.Bound
			}
		}
		if err == nil && !maps.Equal(want, got) {
			err = fmt.Errorf("they are %v, want %v", got, want)
		}
		return err
	})
}
