package kind

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// GardenName is the name of the garden cluster.
const GardenName = "garden"

// NodeImageVariable names the node image where no flag does.
const NodeImageVariable = "TRANSPLANT_NODE_IMAGE"

// Options of a landscape. The zero value is a garden with seeds a and b in the user's default place, on the node image
// that kind itself would take.
type Options struct {
	Name  string   // of the landscape; empty for "default"
	Dir   string   // the run directory; empty for $TRANSPLANT_HOME/<name>
	Seeds []string // in order; nil for a and b

	NodeImage string         // empty for kind's own, which Docker pulls
	Images    []docker.Image // built, and loaded into every node, before the landscape is ready

	// WithoutGarden leaves the garden out: the clusters are the seeds alone.
	WithoutGarden bool

	// MaxRestartBackoff is the longest wait of a node before it starts a container again, at least a second. Zero leaves
	// it to the kubelet, which waits for up to five minutes. A node before Kubernetes 1.35 cannot have another.
	MaxRestartBackoff time.Duration

	// LocalImages are those that Docker has already, which every node gets, too.
	LocalImages []string

	// Companions are started beside the clusters, from CompanionImage.
	Companions     func(*Landscape) ([]clusters.Companion, error)
	CompanionImage docker.Image

	// AfterClusters runs once all clusters and companions are ready, before the landscape is.
	AfterClusters func(context.Context, *Landscape) error

	// ShootRoots are the authorities trusted for a shoot's host; nil trusts the system's.
	ShootRoots func(host string) *x509.CertPool

	Log logr.Logger

	// Lock is the run directory's, when the caller took it and made the directory a fresh one; it stays the caller's.
	// Nil lets Start do so.
	Lock *rundir.Lock

	Progress func(subject, what string) // gets what happens, one call at a time; may be nil
}

func (o *Options) complete() error {
	o.Name = cmp.Or(o.Name, rundir.DefaultName)
	if o.Seeds == nil {
		o.Seeds = []string{"a", "b"}
	}
	if progress := o.Progress; progress != nil {
		var turn sync.Mutex
		o.Progress = func(subject, what string) { turn.Lock(); defer turn.Unlock(); progress(subject, what) }
	} else {
		o.Progress = func(string, string) {}
	}
	return o.Check()
}

// Check says what is wrong with the names, before anything is made of them.
func (o *Options) Check() error {
	for i, seed := range o.Seeds {
		if problems := validation.IsDNS1123Label(seed); len(problems) > 0 {
			return fmt.Errorf("name the seed %q: %s", seed, problems[0])
		}
		if seed == GardenName || slices.Contains(o.Seeds[:i], seed) {
			return fmt.Errorf("name the seed %q: the name is used twice", seed)
		}
	}
	for _, name := range o.names() {
		// a node's name is its host name
		if node := nodeName(prefix("", o.Name) + name); len(node) > validation.DNS1123LabelMaxLength {
			return fmt.Errorf("name the cluster %q of the landscape %q: its node would be %q, "+
				"which is longer than %d characters",
				name, o.Name, node, validation.DNS1123LabelMaxLength)
		}
	}
	return nil
}

// names of all clusters.
func (o *Options) names() []string {
	if o.WithoutGarden {
		return o.Seeds
	}
	return append([]string{GardenName}, o.Seeds...)
}

// prepare does what can fail before anything is made.
func (o *Options) prepare(ctx context.Context) (rundir.Dir, error) {
	if err := o.complete(); err != nil {
		return rundir.Dir{}, err
	}
	if err := docker.Available(ctx); err != nil {
		return rundir.Dir{}, err
	}
	return o.dir()
}

func (o *Options) dir() (rundir.Dir, error) {
	if o.Dir != "" {
		path, err := filepath.Abs(o.Dir) // Docker gets paths of folders in it
		if err != nil {
			return rundir.Dir{}, fmt.Errorf("find the run directory: %w", err)
		}
		return rundir.At(o.Name, path), nil
	}
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, err
	}
	return rundir.Of(home, o.Name)
}

// prefix begins the names of everything that a landscape has in Docker. kind takes no labels for its nodes, so the name
// says whose they are: of landscapes with the same name, those of other folders have another prefix.
func prefix(path, name string) string {
	sum := sha256.Sum256([]byte(path))
	return fmt.Sprintf("transplant-%s-%s-", hex.EncodeToString(sum[:])[:6], name)
}

// nodeName is what kind calls the container of a cluster with one node.
func nodeName(cluster string) string { return cluster + "-control-plane" }
