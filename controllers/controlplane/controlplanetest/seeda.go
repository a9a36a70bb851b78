package controlplanetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

// Records are the authorities of one shoot.
type Records struct{ Lease, DNS *ownershiptest.Authority }

// Claim implements scope.Authorities.
func (r Records) Claim(string, string) ownership.Authority { return r.Lease }

// Decision implements scope.Authorities.
func (r Records) Decision(string) ownership.Authority { return r.DNS }

// SeedA is the run's own seed in these tests, with UID uid-a.
func SeedA() *gardencorev1beta1.Seed {
	return &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}}
}

// OnSeedA is the scope of a run on seed a, with authorities, and with what is in the garden.
func OnSeedA(t *testing.T, operation gardencorev1beta1.LastOperationType, inGarden []client.Object,
	funcs interceptor.Funcs, onSeed ...client.Object) (*scope.Scope, Records) {
	t.Helper()
	o := Scope(t, operation, funcs, onSeed...)
	o.SeedName, o.SeedObject, o.InternalDomain = "a", SeedA(), "test"
	o.Shoot.Status.UID = "uid"
	o.Garden = fake.NewClientBuilder().WithScheme(SeedScheme(t)).WithObjects(inGarden...).Build()
	owners := Records{&ownershiptest.Authority{}, &ownershiptest.Authority{}}
	o.Owners = owners
	return o, owners
}

// Owned is the record of an owner.
func Owned(by string, epoch int64) ownership.Record {
	return ownership.Record{Owner: by, Epoch: epoch, Seed: strings.TrimPrefix(by, "uid-")}
}

// Shelves are buckets by name, each with the reason why nothing can be restored from it; a bucket that is not there has
// no backups. Purged are those that were emptied, Copied what was copied, and LeftOut what every copy has to leave out.
type Shelves struct {
	scope.Buckets
	Content        map[string]error
	Purged, Copied *[]string
	LeftOut        []string
	Newest         map[string]int64 // epochs that have begun, by bucket
}

// Superseded implements scope.Buckets.
func (s Shelves) Superseded(_ context.Context, bucket, _ string, epoch int64) (bool, error) {
	return s.Newest[bucket] > epoch, nil
}

// Copy implements scope.Buckets.
func (s Shelves) Copy(_ context.Context, from, to, prefix string, epoch int64, lastGood bool) ([]string, error) {
	*s.Copied = append(*s.Copied, fmt.Sprintf("%s to %s, %s, epoch %d, last good %t", from, to, prefix, epoch, lastGood))
	return s.LeftOut, nil
}

// Check implements scope.Buckets.
func (s Shelves) Check(_ context.Context, bucket, _ string) error {
	err, there := s.Content[bucket]
	if !there {
		return backup.ErrNoBackups
	}
	return err
}

// Purge implements scope.Buckets.
func (s Shelves) Purge(_ context.Context, bucket, prefix string) error {
	*s.Purged = append(*s.Purged, bucket+"/"+prefix)
	return nil
}

// EntryIn is a BackupEntry of seed b's, with its bucket.
func EntryIn(name, bucket string) *gardencorev1beta1.BackupEntry {
	return &gardencorev1beta1.BackupEntry{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
		Spec:       gardencorev1beta1.BackupEntrySpec{BucketName: bucket, SeedName: ptr.To("b")},
	}
}

// EntryName and SourceName are the BackupEntries of shoot alpha with UID uid.
const EntryName, SourceName = "shoot--p--alpha--uid", "source-shoot--p--alpha--uid"

// EntriesIn are the shoot's entry and its source entry with their buckets; without a bucket there is no entry.
func EntriesIn(bucket, sourceBucket string) []client.Object {
	var entries []client.Object
	if bucket != "" {
		entries = append(entries, EntryIn(EntryName, bucket))
	}
	if sourceBucket != "" {
		entries = append(entries, EntryIn(SourceName, sourceBucket))
	}
	return entries
}

// SecretsOf are the data of all secrets of the control plane, by name.
func SecretsOf(t *testing.T, o *scope.Scope) map[string]corev1.Secret {
	t.Helper()
	list := &corev1.SecretList{}
	if err := o.Seed.List(t.Context(), list, client.InNamespace(o.Namespace())); err != nil {
		t.Fatal(err)
	}
	byName := map[string]corev1.Secret{}
	for _, secret := range list.Items {
		byName[secret.Name] = secret
	}
	return byName
}
