package environment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

// request is one that an identity sends; none takes effect.
type request func(context.Context, client.Client) error

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func state(namespace, name string) *gardencorev1beta1.ShootState {
	return &gardencorev1beta1.ShootState{ObjectMeta: metaOf(namespace, name)}
}

func claimOf(namespace, shoot string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metaOf(namespace, "owner."+shoot),
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("uid")}}
}

func lease(namespace, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metaOf(namespace, name)}
}

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metaOf(namespace, name)}
}

func shootOf(namespace, name string) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{ObjectMeta: metaOf(namespace, name)}
}

func seedOf(name string) *gardencorev1beta1.Seed {
	return &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func chunkOf(namespace, shoot string) *transplantv1alpha1.ShootStateChunk {
	return &transplantv1alpha1.ShootStateChunk{
		ObjectMeta: metaOf(namespace, shoot+"-0123456789abcdef-0"), ShootName: shoot, Bytes: 1,
		SHA256: strings.Repeat("0", 64), Data: []byte("x"),
	}
}

func get(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopyObject().(client.Object))
	}
}

func list(objects client.ObjectList, options ...client.ListOption) request {
	return func(ctx context.Context, c client.Client) error { return c.List(ctx, objects, options...) }
}

func watchAll(objects client.ObjectList, namespace string) request {
	return func(ctx context.Context, c client.Client) error {
		watching, err := c.(client.WithWatch).Watch(ctx, objects, client.InNamespace(namespace))
		if err == nil {
			watching.Stop()
		}
		return err
	}
}

func create(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func remove(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Delete(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func removeAll(object client.Object) request {
	return func(ctx context.Context, c client.Client) error {
		all := object.DeepCopyObject().(client.Object)
		return c.DeleteAllOf(ctx, all, client.InNamespace(object.GetNamespace()), client.DryRunAll)
	}
}

func patch(object client.Object, with string) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(with)),
			client.DryRunAll)
	}
}

func patchStatus(object client.Object, with string) request {
	return func(ctx context.Context, c client.Client) error {
		return c.Status().Patch(ctx, object.DeepCopyObject().(client.Object),
			client.RawPatch(types.MergePatchType, []byte(with)), client.DryRunAll)
	}
}

// put applies, as the gardenlet does what it publishes.
func put(kind, namespace, name string) request {
	text := `{"apiVersion":"v1","kind":"` + kind + `","metadata":{"namespace":"` + namespace + `","name":"` + name + `"}}`
	return func(ctx context.Context, c client.Client) error {
		var object client.Object = secret(namespace, name)
		if kind == "ConfigMap" {
			object = &corev1.ConfigMap{ObjectMeta: metaOf(namespace, name)}
		}
		return c.Patch(ctx, object, client.RawPatch(types.ApplyPatchType, []byte(text)), client.FieldOwner("gardenlet"),
			client.ForceOwnership, client.DryRunAll)
	}
}

func mint(namespace, account string) request {
	return func(ctx context.Context, c client.Client) error {
		return c.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metaOf(namespace, account)},
			&authenticationv1.TokenRequest{})
	}
}

const harmless, note = `{"metadata":{"annotations":{"a":"b"}}}`,
	`{"status":{"lastOperation":{"description":"d","lastUpdateTime":"2026-01-01T00:00:00Z","progress":1,` +
		`"state":"Processing","type":"Reconcile"}}}`

// What a gardenlet does for the shoots of its seed; alpha stands for them.
func gardenletNeeds(s, namespace, shoot string) map[string]request {
	return map[string]request{
		"reads a referenced secret":     get(secret(namespace, "referenced")),
		"reads a referenced config map": get(&corev1.ConfigMap{ObjectMeta: metaOf(namespace, "referenced")}),
		"publishes the kubeconfig":      put("Secret", namespace, shoot+".kubeconfig"),
		"publishes the CA":              put("ConfigMap", namespace, shoot+".ca-cluster"),
		"creates the claim":             create(claimOf(namespace, shoot)),
		"takes the claim":               patch(claimOf(namespace, shoot), harmless),
		"gives the claim up":            remove(claimOf(namespace, shoot)),
		"reads its state":               get(state(namespace, shoot)),
		"creates its state":             create(state(namespace, shoot)),
		"writes a chunk":                create(chunkOf(namespace, shoot)),
		"changes a chunk":               patch(chunkOf(namespace, shoot), harmless),
		"removes a chunk":               remove(chunkOf(namespace, shoot)),
		"reads a chunk":                 get(chunkOf(namespace, shoot)),
		"reports":                       patchStatus(shootOf(namespace, shoot), note),
		"takes a request off":           patch(shootOf(namespace, shoot), harmless),
		"makes the backup entry": create(&gardencorev1beta1.BackupEntry{ObjectMeta: metaOf(namespace,
			"shoot--"+namespace[len("garden-"):]+"--"+shoot+"--uid-of-"+shoot),
			Spec: gardencorev1beta1.BackupEntrySpec{BucketName: "b", SeedName: ptr.To(s)}}),
	}
}

// What a gardenlet may do even while its seed is lost: it reads what is no secret, and reports.
func lostNeeds(s, namespace, shoot string) map[string]request {
	return map[string]request{
		"lists shoots":     list(&gardencorev1beta1.ShootList{}),
		"reads its seed":   get(seedOf(s)),
		"reads the claim":  get(claimOf(namespace, shoot)),
		"reads its lease":  get(lease("gardener-system-seed-lease", s)),
		"creates a lease":  create(lease("gardener-system-seed-lease", s)),
		"renews its lease": patch(lease("gardener-system-seed-lease", s), harmless),
		"says how it is":   patchStatus(seedOf(s), `{"status":{"observedGeneration":1}}`),
	}
}

func recordEvent(namespace string) request {
	return create(&corev1.Event{ObjectMeta: metaOf(namespace, "e"),
		InvolvedObject: corev1.ObjectReference{Namespace: namespace}})
}

// What no gardenlet may do, of which "a" and alpha are its own, and "b" and beta are not.
func gardenletAttacks() map[string]request {
	typed := secret("garden-p", "alpha.kubeconfig")
	typed.Type, typed.Annotations = corev1.SecretTypeServiceAccountToken,
		map[string]string{corev1.ServiceAccountNameKey: "default"}
	bucket := &gardencorev1beta1.BackupBucket{ObjectMeta: metav1.ObjectMeta{Name: "any"}}
	bucket.Spec.Provider.Type, bucket.Spec.Provider.Region, bucket.Spec.SeedName = "transplant", "here", ptr.To("a")
	entry := &gardencorev1beta1.BackupEntry{ObjectMeta: metaOf("garden-p", "shoot--p--beta--uid-of-beta"),
		Spec: gardencorev1beta1.BackupEntrySpec{BucketName: "b", SeedName: ptr.To("a")}}
	misnamed := chunkOf("garden-p", "beta")
	misnamed.Name, misnamed.ShootName = "beta-fedcba9876543210-0", "alpha"
	ofAlpha := client.MatchingLabels{transplantv1alpha1.LabelShoot: "alpha"}
	new := shootOf("garden-p", "new")
	new.Spec.SeedName = ptr.To("a")
	return map[string]request{
		"reads a secret of the landscape":           get(secret("garden", "backup")),
		"reads a secret that is not referenced":     get(secret("garden-p", "other")),
		"reads a secret of another project":         get(secret("garden-q", "referenced")),
		"reads the kubeconfig of another's shoot":   get(secret("garden-p", "beta.kubeconfig")),
		"reads a config map that is not referenced": get(&corev1.ConfigMap{ObjectMeta: metaOf("garden-p", "other")}),
		"lists secrets":                             list(&corev1.SecretList{}, client.InNamespace("garden-p")),
		"lists secrets everywhere":                  list(&corev1.SecretList{}),
		"creates any secret":                        create(secret("garden-p", "any")),
		"creates a secret in another project":       create(secret("garden-q", "alpha.kubeconfig")),
		"creates a secret of the landscape":         create(secret("garden", "any")),
		"creates a secret for a token":              create(typed),
		"applies a secret of another's shoot":       put("Secret", "garden-p", "beta.kubeconfig"),
		"applies any secret":                        put("Secret", "garden-p", "any"),
		"deletes a secret":                          remove(secret("garden-p", "other")),
		"mints a token of the controller-manager":   mint("garden", "garden-controller-manager"),
		"mints a token of another gardenlet":        mint("garden", "gardenlet-b"),
		"mints a token of its control planes":       mint("garden", "control-planes-a"),
		"takes another's claim":                     patch(claimOf("garden-p", "beta"), harmless),
		"takes the claim of another project":        patch(claimOf("garden-q", "gamma"), harmless),
		"creates a claim that another's shoot lost": create(claimOf("garden-p", "gone")),
		"removes another's claim":                   remove(claimOf("garden-p", "beta")),
		"reads another's lease":                     get(lease("gardener-system-seed-lease", "b")),
		"reads a lease that is no claim":            get(lease("kube-system", "kube-scheduler")),
		"lists leases":                              list(&coordinationv1.LeaseList{}, client.InNamespace("garden-p")),
		"renews another's lease":                    patch(lease("gardener-system-seed-lease", "b"), harmless),
		"creates another's lease":                   create(lease("gardener-system-seed-lease", "b")),
		"reports about another's shoot":             patchStatus(shootOf("garden-p", "beta"), note),
		"reports about a shoot of another project":  patchStatus(shootOf("garden-q", "gamma"), note),
		"annotates another's shoot":                 patch(shootOf("garden-p", "beta"), harmless),
		"binds its shoot elsewhere":                 patch(shootOf("garden-p", "alpha"), `{"spec":{"seedName":"b"}}`),
		"refers to another secret": patch(shootOf("garden-p", "alpha"),
			`{"spec":{"resources":[{"name":"x","resourceRef":{"apiVersion":"v1","kind":"Secret","name":"other"}}]}}`),
		"refers to another secret for its domain": patch(shootOf("garden-p", "alpha"),
			`{"spec":{"dns":{"providers":[{"primary":true,"secretName":"other"}]}}}`),
		"gives its shoot to a seed of its choice": patchStatus(shootOf("garden-p", "alpha"),
			`{"status":{"seedName":"b"}}`),
		"takes another's identity": patchStatus(shootOf("garden-p", "alpha"),
			`{"status":{"uid":"uid-of-beta","technicalID":"shoot--p--beta"}}`),
		"creates a shoot":       create(new),
		"deletes its shoot":     remove(shootOf("garden-p", "alpha")),
		"reads another's state": get(state("garden-p", "beta")),
		"lists states": list(&gardencorev1beta1.ShootStateList{},
			client.InNamespace("garden-p")),
		"creates a state of another project's shoot": create(state("garden-q", "gamma")),
		"creates a state of no shoot":                create(state("garden-p", "none")),
		"overwrites another's state":                 patch(state("garden-p", "beta"), harmless),
		"deletes another's state":                    remove(state("garden-p", "beta")),
		"writes a chunk of another's":                create(chunkOf("garden-p", "beta")),
		"changes a chunk of another's":               patch(chunkOf("garden-p", "beta"), harmless),
		"removes a chunk of another's":               remove(chunkOf("garden-p", "beta")),
		"takes the name of another's chunk":          create(misnamed),
		"makes up an identity": patchStatus(shootOf("garden-p", "fresh"),
			`{"status":{"technicalID":"shoot--p--beta"}}`),
		"lists chunks": list(&transplantv1alpha1.ShootStateChunkList{},
			client.InNamespace("garden-p")),
		"lists the chunks of its shoot": list(&transplantv1alpha1.ShootStateChunkList{},
			client.InNamespace("garden-p"), ofAlpha),
		"watches chunks":                   watchAll(&transplantv1alpha1.ShootStateChunkList{}, "garden-p"),
		"removes all chunks":               removeAll(chunkOf("garden-p", "alpha")),
		"reads a chunk of another project": get(chunkOf("garden-q", "gamma")),
		"lists chunks of another project": list(&transplantv1alpha1.ShootStateChunkList{},
			client.InNamespace("garden-q")),
		"makes any backup bucket":             create(bucket),
		"makes the backup entry of another's": create(entry),
		"deletes another seed":                remove(seedOf("b")),
		"deletes its seed":                    remove(seedOf("a")),
		"changes its seed":                    patch(seedOf("a"), harmless),
		"reports about another seed":          patchStatus(seedOf("b"), `{"status":{"observedGeneration":1}}`),
		"widens its role": patch(&rbacv1.Role{ObjectMeta: metaOf("garden-p",
			"gardener.cloud:system:seed:a")}, `{"rules":[]}`),
		"changes the cloud profile": patch(
			&gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, harmless),
	}
}

// An attack on the garden with each actor's own credentials is refused, and what the actor needs is allowed.
func TestAttacks_WithEachIdentity_AreRefused(t *testing.T) {
	t.Parallel()
	k := startGardenKit(t)
	attacksOfControlPlanes := map[string]request{
		"takes another's claim":                     patch(claimOf("garden-p", "beta"), harmless),
		"takes the claim of another project":        patch(claimOf("garden-q", "gamma"), harmless),
		"creates a claim that another's shoot lost": create(claimOf("garden-p", "gone")),
		"removes its claim":                         remove(claimOf("garden-p", "alpha")),
		"renews its seed's lease":                   patch(lease("gardener-system-seed-lease", "a"), harmless),
		"reads its seed's lease":                    get(lease("gardener-system-seed-lease", "a")),
		"lists leases":                              list(&coordinationv1.LeaseList{}, client.InNamespace("garden-p")),
		"reads a secret":                            get(secret("garden-p", "referenced")),
		"reads the state of its shoot":              get(state("garden-p", "alpha")),
		"lists shoots":                              list(&gardencorev1beta1.ShootList{}),
	}
	lost := gardenletNeeds("c", "garden-p", "omega")
	lost["records an event"] = recordEvent("garden-p")
	k.shoot(t, "p/fresh", "a/")
	ofA := k.client(t, k.as(t, "garden/gardenlet-a"))
	k.await(t, "the identity of a shoot that has none", func(ctx context.Context) error {
		return patchStatus(shootOf("garden-p", "fresh"), `{"status":{"technicalID":"shoot--p--fresh"}}`)(ctx, ofA)
	})
	for _, test := range []struct {
		account        string
		needs, attacks map[string]request
	}{
		{account: "gardenlet-a", needs: gardenletNeeds("a", "garden-p", "alpha"), attacks: gardenletAttacks()},
		{account: "gardenlet-a", needs: gardenletNeeds("a", "garden-p", "moving")},
		{account: "gardenlet-b", needs: gardenletNeeds("b", "garden-p", "moving")},
		{account: "gardenlet-b", needs: gardenletNeeds("b", "garden-q", "gamma")},
		{account: "gardenlet-a", needs: lostNeeds("a", "garden-p", "alpha")},
		{account: "gardenlet-a", needs: map[string]request{"records an event": recordEvent("garden-p")}},
		{account: "gardenlet-c", needs: lostNeeds("c", "garden-p", "omega"), attacks: lost},
		{account: "control-planes-a", attacks: attacksOfControlPlanes, needs: map[string]request{
			"reads the claim":     get(claimOf("garden-p", "alpha")),
			"mends the claim":     patch(claimOf("garden-p", "alpha"), harmless),
			"makes it anew":       create(claimOf("garden-p", "alpha")),
			"reads another's":     get(claimOf("garden-q", "gamma")), // as a seed that returns has to
			"mends one that goes": patch(claimOf("garden-p", "moving"), harmless),
		}},
		// It may be the gardenlet alone that is down: guards go on, and heal the claims of what is theirs
		// (docs/ownership.md#o3).
		{account: "control-planes-c", attacks: attacksOfControlPlanes, needs: map[string]request{
			"reads the claim": get(claimOf("garden-p", "omega")),
			"mends the claim": patch(claimOf("garden-p", "omega"), harmless),
			"makes it anew":   create(claimOf("garden-p", "omega")),
		}},
	} {
		k.tries(t, "garden/"+test.account, test.needs, test.attacks)
	}
	k.condition(t, "c", gardencorev1beta1.ConditionTrue)
	c := k.client(t, k.as(t, "garden/gardenlet-c"))
	for name, send := range lost {
		k.await(t, "the rights of a seed that reports again: "+name, func(ctx context.Context) error {
			return client.IgnoreNotFound(client.IgnoreAlreadyExists(send(ctx, c)))
		})
	}
	k.condition(t, "c", gardencorev1beta1.ConditionUnknown)
	k.awaitRefusal(t, "the rights of a seed that is lost", c, lost)
	// Its shoot has gone to another seed, and the backup entry names the lost one still. It reports again, gets another
	// shoot, and nothing of the one that it had. What the two share, and chunks of which it knows the names, it may read.
	k.create(t, &gardencorev1beta1.BackupEntry{ObjectMeta: metaOf("garden-p", "shoot--p--omega--uid-of-omega"),
		Spec: gardencorev1beta1.BackupEntrySpec{BucketName: "b", SeedName: ptr.To("c")}})
	omega := shootOf("garden-p", "omega")
	if err := errors.Join(
		k.admin.Patch(t.Context(), omega, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"seedName":"b"}}`))),
		k.admin.Status().Patch(t.Context(), omega,
			client.RawPatch(types.MergePatchType, []byte(`{"status":{"seedName":"b"}}`))),
	); err != nil {
		t.Fatal(err)
	}
	k.condition(t, "c", gardencorev1beta1.ConditionTrue)
	k.shoot(t, "p/later", "c/c")
	k.await(t, "the rights on its new shoot", func(ctx context.Context) error {
		return errors.Join(patchStatus(shootOf("garden-p", "later"), note)(ctx, c), recordEvent("garden-p")(ctx, c))
	})
	for _, shared := range []string{"records an event", "reads a referenced secret", "reads a referenced config map",
		"reads a chunk"} {
		delete(lost, shared)
	}
	k.tries(t, "garden/gardenlet-c", lostNeeds("c", "garden-p", "omega"), lost)
}

// tries what an identity needs, which must be allowed, and its attacks, which must be refused as its own.
func (k *kit) tries(t *testing.T, account string, needs, attacks map[string]request) {
	t.Helper()
	c := k.client(t, k.as(t, account))
	for name, send := range needs {
		if err := send(t.Context(), c); client.IgnoreNotFound(client.IgnoreAlreadyExists(err)) != nil {
			t.Errorf("%s %s: %v", account, name, err)
		}
	}
	user := "system:serviceaccount:" + strings.Replace(account, "/", ":", 1)
	for name, send := range attacks {
		if err := send(t.Context(), c); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), user) {
			t.Errorf("%s %s: it is not refused as its own: %v", account, name, err)
		}
	}
}

// awaitRefusal waits until all requests are refused.
func (k *kit) awaitRefusal(t *testing.T, what string, c client.Client, requests map[string]request) {
	t.Helper()
	for name, send := range requests {
		k.await(t, "the end of "+what+": "+name, func(ctx context.Context) error {
			if err := send(ctx, c); !apierrors.IsForbidden(err) {
				return fmt.Errorf("it ends with %w", err)
			}
			return nil
		})
	}
}
