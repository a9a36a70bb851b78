package backupentry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// Purge is what a seed does further: its bucket is emptied, unless the shoot's backups are there.
func TestPurgeBackups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry, source string
		unnamed       bool
		want          []string
	}{
		"they are elsewhere": {entry: "uid-b",
			want: []string{"uid-a/" + controlplanetest.EntryName + "/etcd-main"}},
		"there are none":               {want: []string{"uid-a/" + controlplanetest.EntryName + "/etcd-main"}},
		"they are here":                {entry: "uid-a"},
		"they are still copied from":   {entry: "uid-b", source: "uid-a"},
		"they have no name: long gone": {entry: "uid-b", unnamed: true},
		"copied from a third to a next": {entry: "uid-b", source: "uid-c",
			want: []string{"uid-a/" + controlplanetest.EntryName + "/etcd-main"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inGarden := controlplanetest.EntriesIn(c.entry, c.source)
			onA, _ := controlplanetest.OnSeedA(t, "Reconcile", inGarden, interceptor.Funcs{})
			o := &Entries{Scope: onA}
			var purged []string
			o.Bucket = controlplanetest.Shelves{Purged: &purged}
			if c.unnamed {
				o.Shoot.Status.UID = ""
			}
			if err := o.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, purged); diff != "" {
				t.Errorf("emptied (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamespaceOfBackupEntry(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"shoot--p--alpha--0a1b-2c":        "shoot--p--alpha",
		"source-shoot--p--alpha--0a1b-2c": "shoot--p--alpha",
	} {
		if got := NamespaceOf(name); got != want {
			t.Errorf("NamespaceOf(%q) = %q, want %q", name, got, want)
		}
	}
}

// A wait for an entry is woken by what may end it: a result, or an error. That it has gone is an event of its own.
func TestHasNews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last  *gardencorev1beta1.LastOperation
		err   string
		dying bool
		want  bool
	}{
		"created just now":    {},
		"its seed works":      {last: &gardencorev1beta1.LastOperation{Type: "Restore", State: "Processing"}},
		"it is ready":         {last: &gardencorev1beta1.LastOperation{Type: "Restore", State: "Succeeded"}, want: true},
		"it is released":      {last: &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Succeeded"}, want: true},
		"its seed has failed": {last: &gardencorev1beta1.LastOperation{Type: "Restore", State: "Error"}, want: true},
		"its seed says what keeps it": {last: &gardencorev1beta1.LastOperation{Type: "Restore", State: "Processing"},
			err: "the bucket is locked", want: true},
		"it goes":         {last: &gardencorev1beta1.LastOperation{Type: "Delete", State: "Processing"}, dying: true},
		"it begins to go": {last: &gardencorev1beta1.LastOperation{Type: "Restore", State: "Succeeded"}, dying: true},
		"its seed says why it does not go": {last: &gardencorev1beta1.LastOperation{Type: "Delete", State: "Processing"},
			err: "the bucket is locked", dying: true, want: true},
	} {
		entry := controlplanetest.EntryIn(controlplanetest.EntryName, "uid-a")
		entry.Status.LastOperation = c.last
		if c.err != "" {
			entry.Status.LastError = &gardencorev1beta1.LastError{Description: c.err}
		}
		if c.dying {
			entry.DeletionTimestamp = &metav1.Time{}
		}
		if got := HasNews(entry, entry.Status.LastOperation, entry.Status.LastError); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
