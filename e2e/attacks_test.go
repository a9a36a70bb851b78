package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	simlandscape "github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// The shoot that is attacked, on seed b, and the one whose credentials seed a has.
const victim, decoy = "gamma", "beta"

// attack is something that an attacker tries. It takes effect unless it is refused.
type attack struct {
	name string
	send func(context.Context) error
	// refused is nil for the refusal that is wanted, and else says what was wanted.
	refused func(error) error
}

// attacked is a landscape with a shoot that is attacked.
type attacked struct {
	*harmed
	a, b    client.Client // the observer's, of the seeds
	etcd    *corev1.Pod   // of the victim
	machine string        // of the victim, in the cloud
	zone    string        // in which the records are
	bucket  string        // with the backups of the victim
	backup  string        // one of them
	before  standing
}

// attacks on the guard, the sidecar, the garden and the cloud, with each actor's own credentials and as another user of
// the machine, are refused, and the shoot goes on.
func (h *harmed) attacks(t *testing.T) {
	a := h.underAttack(t)
	t.Run("identities may do what the table says", a.identities)
	all := map[string]func(*testing.T) []attack{
		"the garden, as gardenlet of another seed": func(t *testing.T) []attack { return a.gardenAs(t, "gardenlet-a") },
		"the garden, as control plane of another seed": func(t *testing.T) []attack {
			return a.gardenAs(t, "control-planes-a")
		},
		"the guard and the sidecar, as another of the shoot": a.guardAsOthers,
		"everything, with what another seed holds":           a.withLoot,
		"everything, as another user of the machine":         a.asOtherUser,
	}
	for name, attacks := range a.onCloud(t) {
		all[name] = func(*testing.T) []attack { return attacks }
	}
	for name, tried := range all {
		t.Run(name, func(t *testing.T) {
			attacks := tried(t)
			if len(attacks) == 0 {
				t.Fatal("nothing is tried")
			}
			for _, try := range attacks {
				if err := try.refused(try.send(t.Context())); err != nil {
					t.Errorf("%s: %v", try.name, err)
				}
			}
			t.Logf("%d attacks", len(attacks))
		})
	}
	a.goesOn(t)
	t.Run("secrets are kept", a.keepsSecrets)
}

func (h *harmed) underAttack(t *testing.T) *attacked {
	t.Helper()
	a := &attacked{harmed: h}
	h.referenced(t)
	for shoot, seed := range map[string]string{victim: "b", decoy: "a"} {
		manifest, err := h.world.ShootManifest(simlandscape.Shoot{Name: shoot, Seed: seed, Workers: 1})
		if err == nil {
			for _, kind := range []string{"Secret", "ConfigMap"} {
				resource := gardencorev1beta1.NamedResourceReference{Name: strings.ToLower(kind)}
				resource.ResourceRef.APIVersion, resource.ResourceRef.Kind, resource.ResourceRef.Name = "v1", kind, referenced
				manifest.Spec.Resources = append(manifest.Spec.Resources, resource)
			}
			err = h.garden.Create(t.Context(), manifest)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, shoot := range []string{victim, decoy} {
		h.eventually(t, "shoot "+shoot+" is well", func(ctx context.Context) error { return h.isWell(ctx, shoot) })
	}
	clients, err := world.NewClients(h.world)
	for name, into := range map[string]*client.Client{"a": &a.a, "b": &a.b} {
		if err == nil {
			*into, err = clients.Cluster(name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	h.eventually(t, "the shoot has what can be attacked", func(ctx context.Context) (err error) {
		if err := a.targets(ctx); err != nil {
			return err
		}
		a.before, err = a.stands(ctx)
		return err
	})
	return a
}

// referenced is the name of a Secret and a ConfigMap that shoots refer to.
const referenced = "referenced"

func (h *harmed) referenced(t *testing.T) {
	t.Helper()
	name := metav1.ObjectMeta{Namespace: h.world.ShootKey(victim).Namespace, Name: referenced}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: name, StringData: map[string]string{"password": rand.Text()}},
		&corev1.ConfigMap{ObjectMeta: name, Data: map[string]string{"colour": "green"}},
	} {
		if err := h.garden.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// targets finds in the cloud what the victim has.
func (a *attacked) targets(ctx context.Context) error {
	zones, err := a.world.Cloud().Zones().List(ctx, cloud.Filter{Name: environment.Domain})
	if err != nil || len(zones) != 1 {
		return fmt.Errorf("find the zone among %d: %w", len(zones), err)
	}
	machines, err := a.machines(ctx)
	if err != nil || len(machines) == 0 {
		return fmt.Errorf("find the machine among %d: %w", len(machines), err)
	}
	a.zone, a.machine = zones[0].ID, machines[0]
	buckets, err := a.world.Cloud().Buckets().List(ctx, cloud.Filter{})
	if err != nil {
		return err
	}
	for _, bucket := range buckets {
		first := cloud.ListOptions{Prefix: technicalID(victim) + "--", Limit: 1}
		page, err := a.world.Cloud().Bucket(bucket.Name).List(ctx, first)
		if err != nil {
			return err
		}
		if len(page.Items) > 0 {
			a.bucket, a.backup = bucket.Name, page.Items[0].Key
			return nil
		}
	}
	return errors.New("it has no backup")
}

func (a *attacked) machines(ctx context.Context) (ids []string, err error) {
	tags := map[string]string{"transplant.dev/shoot": technicalID(victim)}
	found, err := a.world.Cloud().Machines().List(ctx, cloud.Filter{Tags: tags})
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return slices.Sorted(slices.Values(ids)), err
}

func technicalID(shoot string) string { return "shoot--" + environment.Project + "--" + shoot }

func apiName(shoot string) string {
	return "api." + shoot + "." + environment.Project + "." + environment.Domain
}

func ownerName(shoot string) string {
	return "owner." + shoot + "." + environment.Project + "." + environment.Domain
}

// standing is what an attack must leave as it is.
type standing struct {
	Seed         string
	Bound        string
	Record, Name []string // in DNS
	Claim        coordinationv1.LeaseSpec
	Fenced       int64
	Machines     []string
	Validity     world.Validity
	Etcd         string
	Restarts     int32
	Backup       string // the digest of the one that is attacked
}

func (a *attacked) stands(ctx context.Context) (s standing, err error) {
	shoot, claim := &gardencorev1beta1.Shoot{}, &coordinationv1.Lease{}
	key := a.world.ShootKey(victim)
	ofClaim := client.ObjectKey{Namespace: key.Namespace, Name: "owner." + victim}
	if err = errors.Join(a.garden.Get(ctx, key, shoot), a.garden.Get(ctx, ofClaim, claim)); err != nil {
		return s, err
	}
	if shoot.Status.SeedName != nil && shoot.Spec.SeedName != nil {
		s.Seed, s.Bound = *shoot.Status.SeedName, *shoot.Spec.SeedName
	}
	s.Claim = claim.Spec
	return s, errors.Join(a.standsInCloud(ctx, &s), a.standsOnSeed(ctx, &s))
}

func (a *attacked) standsInCloud(ctx context.Context, s *standing) error {
	c := a.world.Cloud()
	record, err := c.Records(a.zone).Get(ctx, cloud.RecordTXT, ownerName(victim))
	if err != nil {
		return err
	}
	name, err := c.Records(a.zone).Get(ctx, cloud.RecordA, apiName(victim))
	if err != nil {
		return err
	}
	backup, err := c.Bucket(a.bucket).Head(ctx, a.backup)
	if err != nil {
		return err
	}
	s.Record, s.Name, s.Backup = record.Values, name.Values, backup.Digest
	fences, err := c.Fences(ctx)
	for _, fence := range fences {
		if fence.ID == technicalID(victim) {
			s.Fenced = fence.Epoch
		}
	}
	if err == nil {
		s.Machines, err = a.machines(ctx)
	}
	return err
}

func (a *attacked) standsOnSeed(ctx context.Context, s *standing) error {
	planes, err := a.world.ControlPlanes(ctx, victim)
	if err != nil || len(planes) != 1 {
		return fmt.Errorf("find its control plane among %d: %w", len(planes), err)
	}
	if s.Validity, err = planes[0].Validity(ctx); err != nil {
		return err
	}
	s.Validity.Remaining = 0
	pod, key := &corev1.Pod{}, client.ObjectKey{Namespace: technicalID(victim), Name: workload.Etcd + "-0"}
	if err := a.b.Get(ctx, key, pod); err != nil {
		return err
	}
	a.etcd, s.Etcd = pod, string(pod.UID)
	for _, status := range pod.Status.ContainerStatuses {
		s.Restarts += status.RestartCount
	}
	return nil
}

// goesOn: nothing of the shoot is another than before, and its user writes.
func (a *attacked) goesOn(t *testing.T) {
	t.Helper()
	before, err := a.before, error(nil)
	if a.before, err = a.stands(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, a.before); diff != "" {
		t.Errorf("the attacks have changed something (-before +after):\n%s", diff)
	}
	a.eventually(t, "the shoot is used", func(ctx context.Context) error {
		if err := a.isWell(ctx, victim); err != nil {
			return err
		}
		config, err := a.world.ConnectShoot(ctx, victim, world.User)
		if err != nil {
			return err
		}
		c, err := client.New(config, client.Options{})
		if err != nil {
			return err
		}
		name := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "after-"}
		return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: name})
	})
}

// wanted says what was wanted instead of what an attack ended with.
func wanted(refusal string, err error) error {
	if err == nil {
		return fmt.Errorf("it succeeds, want %s", refusal)
	}
	return fmt.Errorf("it ends with %w, want %s", err, refusal)
}

// says that an error is of a kind, and has a text.
func says(refusal string, is func(error) bool, text string) func(error) error {
	return func(err error) error {
		if err == nil || !is(err) || !strings.Contains(err.Error(), text) {
			return wanted(fmt.Sprintf("%s that says %q", refusal, text), err)
		}
		return nil
	}
}
