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
)

// bucketPatience bounds the tries of restore against a bucket that cannot be reached; the pod then starts it anew.
const bucketPatience = 2 * time.Minute

// retryPause is between those tries.
const retryPause = time.Second

func newRestoreCommand(f *backupFlags) *cobra.Command {
	o := backup.RestoreOptions{}
	var onDamage damageFlag
	command := &cobra.Command{
		Use: "restore", Short: "Prepare the data directory of an epoch: keep it, or restore it from the bucket",
		Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			o.LastGood = bool(onDamage)
			return f.restore(ctx, o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.MemberName, "member-name", "etcd-main", "name of etcd's member")
	flags.StringVar(&o.PeerURL, "peer-url", "http://127.0.0.1:2380", "peer URL of etcd's member")
	flags.Uint64Var(&o.RevisionBump, "revision-bump", backup.DefaultRevisionBump, "what is added to the restored revision")
	flags.Var(&onDamage, "on-damage", "fail: a missing or damaged object is an error; last-good: restore what is whole before it")
	return command
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
		result, err := backup.Restore(ctx, o)
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

// permanent tells the errors that no repetition helps against.
func permanent(err error) bool {
	_, damaged := errors.AsType[*backup.DamageError](err)
	_, superseded := errors.AsType[*backup.SupersededError](err)
	_, ended := errors.AsType[*backup.EndedError](err)
	return damaged || superseded || ended
}

func newCopyCommand(f *backupFlags) *cobra.Command {
	source := store{}
	o := backup.CopyOptions{Clock: clock.RealClock{}}
	var onDamage damageFlag
	command := &cobra.Command{
		Use: "copy", Short: "Copy what an epoch starts from out of another bucket or prefix", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			if err := f.need(nil); err != nil {
				return err
			}
			if source.kubeconfig == "" {
				source.kubeconfig = f.kubeconfig
			}
			if o.Source, o.Target, err = openBoth(source, f.store); err != nil {
				return err
			}
			o.Epoch, o.LastGood = f.epoch, bool(onDamage)
			o.Log = klog.FromContext(ctx).WithName("etcd-backup").WithValues("epoch", f.epoch)
			manifest, err := backup.Copy(ctx, o)
			if err != nil {
				return err
			}
			o.Log.Info("Backups are copied", "fromEpoch", manifest.From, "objects", len(manifest.Objects), "final", manifest.Final())
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&source.kubeconfig, "source-cloud-kubeconfig", "", "kubeconfig of the source's cloud; that of the target if not given")
	flags.StringVar(&source.bucket, "source-bucket", "", "bucket to copy from")
	flags.StringVar(&source.bucketFile, "source-bucket-file", "", "file that holds the name of the bucket to copy from")
	flags.StringVar(&source.prefix, "source-prefix", "", "prefix to copy from")
	flags.Int64Var(&o.FinalOf, "final-of", 0, "epoch whose final snapshot to wait for; 0 waits for none")
	flags.DurationVar(&o.FinalTimeout, "final-timeout", 5*time.Minute, "how long to wait for it")
	flags.Var(&onDamage, "on-damage", "fail: a missing or damaged object is an error; last-good: leave it out")
	flags.BoolVar(&o.RequireFinal, "require-final", false, "fail if it does not come, instead of copying what is there")
	return command
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
