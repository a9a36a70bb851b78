package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// store says where backups are. Each field is a flag.
type store struct{ kubeconfig, bucketFile, prefix string }

// open the bucket.
func (s store) open() (backup.Bucket, error) {
	content, err := os.ReadFile(s.bucketFile)
	if err != nil {
		return nil, fmt.Errorf("read the bucket's name: %w", err)
	}
	name := strings.TrimSpace(string(content))
	if name == "" {
		return nil, fmt.Errorf("open the bucket: the file %q of --bucket-file names none", s.bucketFile)
	}
	client, err := cloud.FromKubeconfigFile(s.kubeconfig, cloud.Options{})
	if err != nil {
		return nil, err
	}
	return backup.CloudBucket{Content: client.Bucket(name), Prefix: s.prefix}, nil
}

// backupFlags are the flags that all subcommands of etcd-backup share.
type backupFlags struct {
	store
	endpoint, dataDir string
	epoch             int64
	unowned           bool
}

// NewBackupCommand returns "etcd-backup" with its subcommands serve and restore.
func NewBackupCommand() *cobra.Command {
	f := &backupFlags{}
	command := &cobra.Command{
		Use:   "etcd-backup",
		Short: "Back up a shoot's etcd, or restore it",
		Args:  cobra.NoArgs,
	}
	flags := command.PersistentFlags()
	flags.StringVar(&f.kubeconfig, "cloud-kubeconfig", "", "kubeconfig of the cloud")
	flags.StringVar(&f.bucketFile, "bucket-file", "", "file with the name of the bucket")
	flags.StringVar(&f.prefix, "prefix", "", "prefix of this etcd's backups in the bucket")
	flags.StringVar(&f.endpoint, "endpoint", "", "unix socket of etcd, as unix:///path")
	flags.StringVar(&f.dataDir, "data-dir", "", "etcd's data directory")
	flags.Int64Var(&f.epoch, "epoch", 0, "ownership epoch")
	flags.BoolVar(&f.unowned, "unowned", false, "of an etcd that no shoot has and no guard is beside, such as the "+
		"garden's: its epochs count its restores")
	command.AddCommand(newServeCommand(f), newRestoreCommand(f))
	return command
}

func (f *backupFlags) need(fields map[string]string) error {
	if f.epoch < 1 && !f.unowned {
		return errors.New("check the flags: --epoch must be positive")
	}
	for _, name := range []string{"endpoint", "data-dir", "ca-file", "cert-file", "key-file"} {
		if value, asked := fields[name]; asked && value == "" {
			return fmt.Errorf("check the flags: --%s must be given", name)
		}
	}
	return nil
}

const (
	// deltaBytes is the size at which a delta is uploaded before its time.
	deltaBytes = 4 << 20
	// pendingBytes is the size of changes that may wait for the bucket.
	pendingBytes = 64 << 20
	// keepFull is how many full snapshots are kept, with the deltas behind them.
	keepFull = 3
)

// serveFlags are those of etcd-backup serve.
type serveFlags struct {
	*backupFlags
	listen, apiListen           string
	files                       access.Files
	deltaInterval, fullInterval time.Duration
}

func newServeCommand(shared *backupFlags) *cobra.Command {
	f := &serveFlags{backupFlags: shared}
	command := &cobra.Command{
		Use: "serve", Short: "Back up etcd: full snapshots, and deltas for every change between them", Args: cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return f.run(ctx)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address for probes and metrics (HTTP)")
	flags.StringVar(&f.apiListen, "api-listen", "127.0.0.1:8081", "address for the guard and the owner (HTTP, mutual TLS)")
	files(flags, &f.files)
	flags.DurationVar(&f.deltaInterval, "delta-interval", 5*time.Second,
		"maximum age of a change before its upload begins")
	flags.DurationVar(&f.fullInterval, "full-interval", time.Hour, "time between full snapshots")
	return command
}

func (f *serveFlags) run(ctx context.Context) error {
	needed := map[string]string{"endpoint": f.endpoint, "data-dir": f.dataDir}
	if !f.unowned {
		needed["ca-file"], needed["cert-file"], needed["key-file"] = f.files.CA, f.files.Cert, f.files.Key
	}
	if err := f.need(needed); err != nil {
		return err
	}
	log := klog.FromContext(ctx).WithName("etcd-backup")
	if !f.unowned {
		log = log.WithValues("epoch", f.epoch)
	}
	bucket, err := f.open()
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{f.endpoint}, DialTimeout: 5 * time.Second,
		Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("make a client for etcd: %w", err)
	}
	defer client.Close()
	boot, err := ownership.NewBootClock()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	metrics, err := backup.NewMetrics(registry)
	if err != nil {
		return err
	}
	dir := datadir.Dir(f.dataDir)
	options := backup.Options{
		Client: client, Bucket: bucket, Epoch: f.epoch, TempDir: filepath.Clean(f.dataDir) + ".snapshots",
		MayEnd:        func() error { return mayEnd(dir, f.epoch) },
		MayDelete:     func() bool { return mayDelete(dir, f.epoch, boot) },
		DeltaInterval: f.deltaInterval, FullInterval: f.fullInterval,
		DeltaBytes: deltaBytes, PendingBytes: pendingBytes, KeepFull: keepFull,
		Clock: clock.RealClock{}, Metrics: metrics, Log: log,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}))
	group, ctx := errgroup.WithContext(ctx)
	if err := serveHTTP(ctx, group, f.listen, nil, mux); err != nil {
		return err
	}
	if f.unowned {
		group.Go(func() error { return serveUnowned(ctx, dir, options) })
		return group.Wait()
	}
	sidecar := backup.NewSidecar(options)
	if err := serveAPI(ctx, group, f.apiListen, f.files, sidecar.Routes()); err != nil {
		return err
	}
	group.Go(func() error { return sidecar.Run(ctx) })
	return group.Wait()
}

// mayEnd: a final snapshot is taken only behind a fence whose holders are all revoked (docs/ownership.md#o3,
// docs/ownership.md#o4).
func mayEnd(dir datadir.Dir, epoch int64) error {
	memory, err := dir.ReadMemory()
	if err != nil {
		return err
	}
	if memory.Epoch != epoch || memory.Fence == nil || !memory.Fence.Revoked {
		return backup.ErrNotFenced
	}
	return nil
}

// mayDelete: only the valid owner removes old objects, another may be restoring from them.
func mayDelete(dir datadir.Dir, epoch int64, clock ownership.Clock) bool {
	memory, err := dir.ReadMemory()
	return err == nil && memory.Epoch == epoch && memory.Fence == nil &&
		memory.BootID == clock.BootID() && memory.Until.Sub(clock.Now()) > 0
}
