package actors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/plainpod"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/migration/secondsign"
	"github.com/transplant-sim/transplant/controllers/outside"
)

// RestoreControlPlane is the name of the command.
const RestoreControlPlane = "restore-control-plane"

// Outside is what an operator has who restores control planes outside any seed. It is a file of the run directory.
type Outside struct {
	// Slot of the landscape, and the path of its binary with etcd and the programs of Kubernetes.
	Slot         address.Slot `json:"slot"`
	ControlPlane string       `json:"controlPlane"`
	// GardenKubeconfig and CloudKubeconfig are the paths of the operator's, ProgramsKubeconfig that of the programs' for
	// the cloud.
	GardenKubeconfig   string `json:"gardenKubeconfig"`
	CloudKubeconfig    string `json:"cloudKubeconfig"`
	ProgramsKubeconfig string `json:"programsKubeconfig"`
	// ProxyURL and ProxyCA are the way to shoots by their names.
	ProxyURL string `json:"proxyURL"`
	ProxyCA  []byte `json:"proxyCA"`
	// Namespace of the shoots, and the domain below which they live.
	Namespace      string `json:"namespace"`
	InternalDomain string `json:"internalDomain"`
	// Durations are those of all gardenlets: who owns a shoot waits as long as the owner before it may be valid.
	OwnerCheckInterval   metav1.Duration `json:"ownerCheckInterval"`
	OwnerCheckTimeout    metav1.Duration `json:"ownerCheckTimeout"`
	DeltaInterval        metav1.Duration `json:"deltaInterval"`
	FullSnapshotInterval metav1.Duration `json:"fullSnapshotInterval"`
	DNSTTL               metav1.Duration `json:"dnsTTL"`
}

// outsidePath is where it is in a run directory.
func outsidePath(dir rundir.Dir) string { return dir.Join("outside.yaml") }

// WriteOutside writes what an operator has into the run directory.
func WriteOutside(dir rundir.Dir, has Outside) error {
	content, err := yaml.Marshal(has)
	if err == nil {
		err = os.WriteFile(outsidePath(dir), content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write what control planes outside any seed need: %w", err)
	}
	return nil
}

// OutsideDir is the folder of the control plane of a shoot that runs outside any seed. It is there for as long as that.
func OutsideDir(dir rundir.Dir, shoot string) string { return dir.Join("outside", shoot) }

// outsideLogs is what the paths of its logs begin with. They stay.
func outsideLogs(dir rundir.Dir, shoot string) string { return dir.Join("logs", "outside-"+shoot+"-") }

// addressFile in that folder has the address.
const addressFile = "address"

// FindOutside finds a control plane that runs outside any seed: its address, and the files of the observer's
// certificate for its guard. It is os.ErrNotExist if there is none.
func FindOutside(dir rundir.Dir, shoot string) (address string, observer access.Files, err error) {
	folder := OutsideDir(dir, shoot)
	content, err := os.ReadFile(filepath.Join(folder, addressFile))
	if err != nil {
		return "", access.Files{}, fmt.Errorf("find the control plane of shoot %q outside any seed: %w", shoot, err)
	}
	return string(content), access.Folder(plainpod.SecretFolder(folder, access.Observer.Secret())), nil
}

// NewRestoreControlPlane returns "restore-control-plane", for operators.
func NewRestoreControlPlane() *cobra.Command {
	var landscape, handOver string
	command := &cobra.Command{
		Use:   RestoreControlPlane + " SHOOT",
		Short: "Run the control plane of a shoot outside any seed, from its backups",
		Long: `Run the control plane of a shoot outside any seed, from its backups and its ShootState.

It is for a shoot whose seed cannot come back without it: in a ring of seeds that has lost its power, each API
server waits for the next one. The command stays: it is the control plane until that is handed over to a seed.
Then the seed restores the shoot, and the command ends.

It refuses a shoot that somebody else runs, or may run. While the bucket or DNS is away it waits.`,
		Example: `  transplant restore-control-plane a --hand-over c   # until seed c is ready and has got it
  transplant restore-control-plane a                 # until somebody asks by the same with --hand-over`,
		Args: cobra.ExactArgs(1), SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			dir, err := dirOf(landscape)
			if err != nil {
				return err
			}
			say := func(format string, arguments ...any) {
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
			}
			return restoreOutside(ctx, dir, args[0], handOver, say)
		},
	}
	flags := command.Flags()
	flags.StringVar(&landscape, "landscape", rundir.DefaultName, "name of the landscape")
	flags.StringVar(&handOver, "hand-over", "",
		"seed that gets the control plane as soon as it is ready, also one that runs outside already")
	return command
}

// dirOf a landscape. Processes that a landscape has started know its folder.
func dirOf(landscape string) (rundir.Dir, error) {
	if path := os.Getenv(embedded.DirVariable); path != "" {
		return rundir.At(landscape, path), nil
	}
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, err
	}
	return rundir.Of(home, landscape)
}

func restoreOutside(ctx context.Context, dir rundir.Dir, shoot, handOver string, say func(string, ...any)) error {
	if len(validation.IsDNS1123Label(shoot)) > 0 {
		return fmt.Errorf("restore a control plane outside any seed: %q is no name of a shoot: name it without its "+
			"namespace", shoot)
	}
	has, err := readOutside(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(OutsideDir(dir, shoot)), 0o700); err != nil {
		return fmt.Errorf("make the folder of control planes outside any seed: %w", err)
	}
	path := outsideLogs(dir, shoot) + "command.log"
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	restore, err := has.restore(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	if err != nil {
		return err
	}
	restore.Say = say
	owner, err := dir.Owner()
	if err != nil {
		return err
	}
	ctx, stop := while(ctx, func() error { return checkOwner(dir, owner) })
	defer stop()
	go process.Rotate(ctx.Done(), path)
	key := types.NamespacedName{Namespace: has.Namespace, Name: shoot}
	lock := flock.New(OutsideDir(dir, shoot) + ".lock")
	defer lock.Close()
	first, err := takeLock(ctx, lock)
	if err != nil {
		return err
	}
	if !first {
		return handOverFrom(ctx, lock, restore, key, handOver)
	}
	if err := clearOutside(OutsideDir(dir, shoot)); err != nil {
		return err
	}
	if err := restore.Check(ctx, key, handOver); err != nil {
		return err
	}
	machine, done, err := has.machine(dir, shoot, restore.Log)
	if err != nil {
		return err
	}
	restore.Place, restore.Address = place{machine}, machine.Address
	restore.Entry = entry{at: machine.Address, cloud: has.CloudKubeconfig, ttl: has.DNSTTL.Duration,
		interval: has.OwnerCheckInterval.Duration, clock: restore.Boottime, log: restore.Log}
	return errors.Join(restore.Run(ctx, key, handOver), done())
}

// glance is how long a command that only looks whether another one lives may have the lock.
const glance = time.Second

// takeLock says whether no other command has the lock.
func takeLock(ctx context.Context, lock *flock.Flock) (taken bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	taken, err = lock.TryLockContext(bounded, glance/20)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return false, fmt.Errorf("lock the control plane: %w", err)
	}
	return taken, nil
}

// handOverFrom has the command that has the lock hand the control plane over, for as long as that command lives.
func handOverFrom(ctx context.Context, lock *flock.Flock, restore *outside.Restore, key types.NamespacedName,
	seed string) error {
	if seed == "" {
		return &outside.OwnedError{Shoot: key.String(),
			Why: "another command runs it: give it to a seed with --hand-over SEED, or end that command"}
	}
	free := 0
	ctx, stop := while(ctx, func() error {
		if ended, err := lock.TryLock(); !ended || err != nil {
			return err
		}
		if free++; free > 5 { // it may have ended because the seed has the control plane, which is seen in a moment
			return errors.Join(errors.New("the command that ran the control plane has ended"), lock.Unlock())
		}
		return lock.Unlock()
	})
	defer stop()
	handed, err := restore.HandOver(ctx, key, seed)
	if !handed && err == nil {
		err = fmt.Errorf("hand over shoot %q: another command is about to run it, or to hand it over: try again", key)
	}
	return err
}

// while is a context that ends with the first error of a check, which is repeated each second.
func while(ctx context.Context, check func() error) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		for {
			if err := check(); err != nil {
				stop(err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}()
	return ctx, func() { stop(nil) }
}

// checkOwner is an error once a landscape has ended: nothing of it outlives its owner.
func checkOwner(dir rundir.Dir, owner process.ID) error {
	up, err := dir.Owned()
	if err != nil {
		return nil // it is asked again
	}
	if now, err := dir.Owner(); !up || err == nil && now != owner {
		return rundir.ErrNotUp
	}
	return nil
}

func readOutside(dir rundir.Dir) (has Outside, err error) {
	up, err := dir.Owned()
	if err != nil {
		return has, err
	}
	if !up {
		return has, fmt.Errorf("restore a control plane outside the seeds of landscape %q: %w", dir.Name, rundir.ErrNotUp)
	}
	content, err := os.ReadFile(outsidePath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return has, fmt.Errorf("restore a control plane outside the seeds of landscape %q: only the embedded backend can",
			dir.Name)
	}
	if err == nil {
		err = yaml.UnmarshalStrict(content, &has)
	}
	if err != nil {
		return has, fmt.Errorf("read how control planes run outside any seed: %w", err)
	}
	return has, nil
}

// restore is without the place where programs run.
func (has Outside) restore(log logr.Logger) (*outside.Restore, error) {
	gardenConfig, err := clientcmd.BuildConfigFromFlags("", has.GardenKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the garden's kubeconfig: %w", err)
	}
	cloudConfig, err := clientcmd.BuildConfigFromFlags("", has.CloudKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the cloud's kubeconfig: %w", err)
	}
	ground, err := outsideSeed(gardenConfig, cloudConfig)
	if err != nil {
		return nil, err
	}
	shoots, err := newShootClients(has.ProxyURL, "")
	if err != nil {
		return nil, err
	}
	shoots.ca = has.ProxyCA
	garden, err := os.ReadFile(has.GardenKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the garden's kubeconfig: %w", err)
	}
	return &outside.Restore{
		Settings: scope.Settings{
			InternalDomain: has.InternalDomain, GatewayPort: gatewayPort, Image: transplantImage, KubernetesImage: programsImage,
			OwnerCheckInterval: has.OwnerCheckInterval.Duration, OwnerCheckTimeout: has.OwnerCheckTimeout.Duration,
			DeltaInterval: has.DeltaInterval.Duration, FullSnapshotInterval: has.FullSnapshotInterval.Duration,
		},
		Garden: ground.Garden, Owners: ground.Owners, Bucket: ground.Bucket, States: ground.States, Clock: ground.Clock,
		Boottime: ground.Boottime, Release: releaser{ground.Boottime}, Log: log,
		Hear:         &secondsign.Hearing{Garden: ground.Garden, Shoots: shoots},
		GardenAccess: garden,
		CloudAccess: func(technicalID string) ([]byte, error) {
			content, err := os.ReadFile(has.ProgramsKubeconfig)
			if err != nil {
				return nil, fmt.Errorf("read the programs' kubeconfig for the cloud: %w", err)
			}
			return cloud.ConfineKubeconfig(content, technicalID)
		},
	}, nil
}
