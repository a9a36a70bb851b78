package etcd

import (
	"errors"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/etcd/etcdtest"
)

// Each restore of an etcd that nobody owns begins an epoch that nobody had. Data that are here keep theirs, and a
// former self that still has some of an older epoch does not go on with them.
func TestUnowned_EachRestore_BeginsAnEpoch(t *testing.T) {
	t.Parallel()
	bucket := &etcdtest.Bucket{}
	dir := datadir.Dir(t.TempDir())
	if _, err := nextUnowned(t.Context(), bucket, dir); !errors.Is(err, backup.ErrNoBackups) || !permanent(err) {
		t.Errorf("without any backup a restore says %v", err)
	}
	for range 2 { // the second time it has been restarted
		if epoch, err := beginUnowned(t.Context(), bucket, dir); err != nil || epoch != 1 {
			t.Fatalf("the first epoch is %d, %v", epoch, err)
		}
	}
	if epoch, err := nextUnowned(t.Context(), bucket, dir); err != nil || epoch != 1 {
		t.Errorf("data that are here are of epoch %d, %v", epoch, err)
	}
	lost := datadir.Dir(t.TempDir())
	if _, err := nextUnowned(t.Context(), bucket, lost); !errors.Is(err, backup.ErrNoBackups) {
		t.Errorf("without a full snapshot a restore says %v", err)
	}
	full := backup.Object{Epoch: 1, Kind: backup.Full, Last: 7, SHA256: strings.Repeat("0", 64)}
	if err := bucket.Create(t.Context(), full.Key(), strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	if epoch, err := nextUnowned(t.Context(), bucket, lost); err != nil || epoch != 2 {
		t.Errorf("the epoch after a loss is %d, %v", epoch, err)
	}
	if err := lost.WriteEpoch(datadir.Epoch{Epoch: 2, From: 1}); err != nil {
		t.Fatal(err)
	}
	if epoch, err := beginUnowned(t.Context(), bucket, lost); err != nil || epoch != 2 {
		t.Errorf("what was restored begins epoch %d, %v", epoch, err)
	}
	if _, err := beginUnowned(t.Context(), bucket, dir); !permanent(err) {
		t.Errorf("the former self goes on: %v", err)
	}
}

// A shoot's etcd needs an epoch and an owner's certificates, one that nobody owns neither.
func TestBackupCommand_Flags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"serve --endpoint=e --data-dir=d":           "--epoch must be positive",
		"serve --endpoint=e --data-dir=d --epoch=1": "--ca-file must be given",
		"serve --endpoint=e --unowned":              "--data-dir must be given",
		"serve --endpoint=e --data-dir=d --unowned": "read the bucket's name",
		"restore --data-dir=d":                      "--epoch must be positive",
		"restore --data-dir=d --unowned":            "read the bucket's name",
	} {
		command := NewBackupCommand()
		command.SetArgs(strings.Fields(args))
		command.SilenceUsage, command.SilenceErrors = true, true
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("etcd-backup %s: %v, want %q", args, err, want)
		}
	}
}
