package backupentry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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
