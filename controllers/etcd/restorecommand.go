package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
)

// bucketPatience bounds the tries of restore against a bucket that cannot be reached; the pod then starts it anew.
const bucketPatience = 2 * time.Minute

// retryPause is between those tries.
const retryPause = time.Second

// restoreFlags are those of etcd-backup restore.
type restoreFlags struct {
	*backupFlags
	onDamage            damageFlag
	memberName, peerURL string
}

func newRestoreCommand(shared *backupFlags) *cobra.Command {
	f := &restoreFlags{backupFlags: shared}
	return f.command()
}

func (f *restoreFlags) command() *cobra.Command {
	command := &cobra.Command{
		Use: "restore", Short: "Prepare the data directory for an epoch: keep it, or restore it from the bucket",
		Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return f.restore(ctx, f.options())
		},
	}
	command.Flags().StringVar(&f.memberName, "member-name", "etcd-main", "name of etcd's only member")
	command.Flags().StringVar(&f.peerURL, "peer-url", "http://127.0.0.1:2380", "where that member is for others")
	command.Flags().Var(&f.onDamage, "on-damage",
		"fail: a missing or damaged object is an error; last-good: restore the intact objects before it")
	return command
}

// options are those of a restore for the one member that etcd has.
func (f *restoreFlags) options() backup.RestoreOptions {
	return backup.RestoreOptions{
		MemberName: f.memberName, PeerURL: f.peerURL, RevisionBump: backup.DefaultRevisionBump,
		LastGood: bool(f.onDamage),
	}
}

func (f *backupFlags) restore(ctx context.Context, o backup.RestoreOptions) error {
	if err := f.need(map[string]string{"data-dir": f.dataDir}); err != nil {
		return err
	}
	bucket, err := f.open()
	if err != nil {
		return err
	}
	o.Bucket, o.Epoch, o.DataDir = bucket, f.epoch, f.dataDir
	o.Log = klog.FromContext(ctx).WithName("etcd-backup").WithValues("epoch", f.epoch)
	ctx, cancel := context.WithTimeout(ctx, bucketPatience)
	defer cancel()
	for {
		result, err := f.attempt(ctx, o)
		if err == nil {
			o.Log.Info("Data directory is ready", "kept", result.Kept, "fresh", result.Fresh, "revision", result.Revision,
				"fromEpoch", result.From, "final", result.Final, "damage", fmt.Sprint(result.Damage))
			return nil
		}
		if permanent(err) {
			return err
		}
		o.Log.Error(err, "Restore is tried again")
		select {
		case <-ctx.Done():
			return err
		case <-clock.RealClock{}.After(retryPause):
		}
	}
}

// attempt a restore once.
func (f *backupFlags) attempt(ctx context.Context, o backup.RestoreOptions) (result backup.RestoreResult, err error) {
	if f.unowned {
		if o.Epoch, err = nextUnowned(ctx, o.Bucket, datadir.Dir(o.DataDir)); err != nil {
			return backup.RestoreResult{}, err
		}
	}
	return backup.Restore(ctx, o)
}

// permanent reports whether no repetition helps against the error.
func permanent(err error) bool {
	_, damaged := errors.AsType[*backup.DamageError](err)
	_, superseded := errors.AsType[*backup.SupersededError](err)
	_, ended := errors.AsType[*backup.EndedError](err)
	return damaged || superseded || ended || errors.Is(err, backup.ErrNoBackups)
}

// damageFlag is --on-damage: true for last-good.
type damageFlag bool

var _ pflag.Value = new(damageFlag)

// String implements pflag.Value.
func (d *damageFlag) String() string {
	if *d {
		return "last-good"
	}
	return "fail"
}

// Set implements pflag.Value.
func (d *damageFlag) Set(text string) error {
	if text != "fail" && text != "last-good" {
		return errors.New("it must be fail or last-good")
	}
	*d = text == "last-good"
	return nil
}

// Type implements pflag.Value.
func (d *damageFlag) Type() string { return "fail|last-good" }
