package owner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// counted are authorities whose decision counts how often it is read.
type counted struct {
	controlplanetest.Records
	reads *int
}

func (c counted) Decision(name string) ownership.Authority {
	return countedDecision{c.Records.Decision(name), c.reads}
}

type countedDecision struct {
	ownership.Authority
	reads *int
}

func (d countedDecision) Read(ctx context.Context) (ownership.Record, ownership.Version, error) {
	*d.reads++
	return d.Authority.Read(ctx)
}

func TestSurvey_Whose_IsReadAtItsFirstUseAndOnce(t *testing.T) {
	t.Parallel()
	onA, owners := controlplanetest.OnSeedA(t, "Restore", nil, interceptor.Funcs{}, controlplanetest.EtcdOf("4"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}})
	o := New(onA)
	reads := 0
	o.Owners = counted{owners, &reads}
	owners.DNS.Set(controlplanetest.Owned("uid-b", 5))
	here, err := o.Survey(t.Context())
	if err != nil || reads != 0 {
		t.Fatalf("DNS was read %d times, and nobody has asked: %v", reads, err)
	}
	owners.DNS.Down(true)
	if _, err := here.Whose(t.Context()); !errors.Is(err, ownershiptest.ErrDown) || reads != 1 {
		t.Errorf("got %v after %d reads, want %v", err, reads, ownershiptest.ErrDown)
	}
	owners.DNS.Down(false)
	left, err := here.HasLeftovers(t.Context())
	if err != nil || !left || reads != 2 {
		t.Errorf("after an error: got %t, %v after %d reads; want to be asked again", left, err, reads)
	}
	restored, err := here.EtcdRestored(t.Context())
	if err != nil || restored {
		t.Errorf("etcd is restored: %t, %v", restored, err)
	}
	if whose, err := here.Whose(t.Context()); err != nil || whose != tenure.OthersBegun || reads != 2 {
		t.Errorf("got %d, %v after %d reads", whose, err, reads)
	}
	owners.DNS.Set(controlplanetest.Owned("uid-a", 6))
	if here, err = o.Survey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if whose, err := here.Whose(t.Context()); err != nil || whose != tenure.OursAnew {
		t.Errorf("a new survey: got %d, %v", whose, err)
	}
}

// questioned are buckets that note what they are asked. They show a newer epoch or a final snapshot of epoch 3, and
// one of them cannot be read, each by its name.
type questioned struct {
	scope.Buckets
	newer, final, away string
	questions          *[]string
}

var errBucketAway = errors.New("the bucket is away")

func (q questioned) Superseded(_ context.Context, bucket, prefix string, epoch int64) (bool, error) {
	return q.answer("newer ", bucket, prefix, bucket == q.newer && epoch == 3)
}

func (q questioned) HasFinalSnapshot(_ context.Context, bucket, prefix string, epoch int64) (bool, error) {
	return q.answer("final ", bucket, prefix, bucket == q.final && epoch == 3)
}

func (q questioned) answer(question, bucket, prefix string, yes bool) (bool, error) {
	*q.questions = append(*q.questions, question+bucket)
	if bucket == q.away || prefix != "shoot--p--alpha--uid/etcd-main" {
		return false, errBucketAway
	}
	return yes, nil
}

// The manifest of a newer epoch may be in any bucket that the shoot's backups have been in, the final snapshot of an
// etcd that this seed has is in the seed's own.
func TestUnsavedEpoch(t *testing.T) {
	t.Parallel()
	all := []string{"newer uid-a", "newer uid-b", "newer uid-c", "final uid-a"}
	for name, c := range map[string]struct {
		entries []client.Object
		buckets questioned
		want    int64
		says    string
		asks    []string
	}{
		"unsaved":    {entries: entriesBC(), want: 3, asks: all},
		"no entries": {want: 3, asks: []string{"newer uid-a", "final uid-a"}},
		"its final snapshot is there": {
			entries: entriesBC(), buckets: questioned{final: "uid-a"}, asks: all,
		},
		"a final snapshot elsewhere": {
			entries: entriesBC(), buckets: questioned{final: "uid-b"}, want: 3, asks: all,
		},
		"a newer epoch has begun from the source's bucket": {
			entries: entriesBC(), buckets: questioned{newer: "uid-c"}, asks: all[:3],
		},
		"a newer epoch has begun, another bucket is away": {
			entries: entriesBC(), buckets: questioned{newer: "uid-a", away: "uid-b"}, asks: all[:1],
		},
		"a bucket is away": {
			entries: entriesBC(), buckets: questioned{final: "uid-a", away: "uid-b"}, asks: all[:2],
			says: `look for newer epochs in bucket "uid-b"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onA, _ := controlplanetest.OnSeedA(t, "Restore", c.entries, interceptor.Funcs{})
			o := New(onA)
			var asks []string
			c.buckets.questions = &asks
			o.Bucket = c.buckets
			got, err := (&Survey{Tenure: tenure.Tenure{Etcd: etcd3}, o: o}).UnsavedEpoch(t.Context())
			if got != c.want || errors.Is(err, errBucketAway) != (c.says != "") ||
				err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %d, %v; want %d, %q", got, err, c.want, c.says)
			}
			if !slices.Equal(asks, c.asks) {
				t.Errorf("it asks %q, want %q", asks, c.asks)
			}
		})
	}
}

// etcd3 runs: UnsavedEpoch is asked of no other (tenure.AwaitEnd).
var etcd3 = tenure.Etcd{Exists: true, Epoch: 3, Runs: true}

// entriesBC are the shoot's BackupEntry, which names bucket uid-b, and the one of its source, which names uid-c.
func entriesBC() []client.Object {
	return []client.Object{controlplanetest.EntryIn(controlplanetest.EntryName, "uid-b"),
		controlplanetest.EntryIn(controlplanetest.SourceName, "uid-c")}
}

// The final snapshot of the epoch that is replaced is in the bucket that the garden's entry names. Newer epochs do not
// count: the wait of a take-over ends with the final snapshot of exactly that epoch.
func TestHasFinalSnapshot(t *testing.T) {
	t.Parallel()
	inB := []string{"final uid-b"}
	for name, c := range map[string]struct {
		entries []client.Object
		buckets questioned
		want    bool
		err     error
		asks    []string
	}{
		"no entry":                {buckets: questioned{final: "uid-a"}},
		"it is there":             {entries: entriesBC(), buckets: questioned{final: "uid-b"}, want: true, asks: inB},
		"it is in another bucket": {entries: entriesBC(), buckets: questioned{final: "uid-a"}, asks: inB},
		"a newer epoch has begun": {entries: entriesBC(), buckets: questioned{newer: "uid-b"}, asks: inB},
		"the bucket is away": {
			entries: entriesBC(), buckets: questioned{away: "uid-b"}, err: errBucketAway, asks: inB,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onA, _ := controlplanetest.OnSeedA(t, "Restore", c.entries, interceptor.Funcs{})
			o := New(onA)
			var asks []string
			c.buckets.questions = &asks
			o.Bucket = c.buckets
			got, err := o.entries.HasFinalSnapshot(t.Context(), 3)
			if got != c.want || !errors.Is(err, c.err) || !slices.Equal(asks, c.asks) {
				t.Errorf("got %t, %v, asking %q; want %t, %v, %q", got, err, asks, c.want, c.err, c.asks)
			}
		})
	}
}
