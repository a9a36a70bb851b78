package embedded

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/checkpoint"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/link/forward"
)

// GardenName is the name of the garden cluster.
const GardenName = "garden"

// Options of a landscape. The zero value is a garden with seeds a and b in the user's default place.
type Options struct {
	Name  string   // of the landscape; empty for "default"
	Dir   string   // the run directory; empty for $TRANSPLANT_HOME/<name>
	Seeds []string // in order; nil for a and b
	// Hosted are seeds whose API servers are those of shoots. Their clusters are no more than nodes, and begin with
	// Attach.
	Hosted map[string]Hosted
	// RealNodes is for how many shoots slices of addresses are kept free: their nodes run pods.
	RealNodes int
	// GardenMembers are seeds on whose machines the garden's etcd has a member each; nil for one on the garden's own.
	GardenMembers []string

	Slot         *address.Slot // the address slot; nil for the first free one, or the last one with ToKeep
	ToKeep       bool          // a checkpoint will be made of it, which is started at the same addresses
	Binary       string        // the control-plane binary; empty for binary.Ensure
	Executable   string        // transplant, which process nodes and extras run; empty for os.Executable
	WithoutNodes bool          // leave the process nodes out: no pod will run
	// WithoutGarden leaves the garden out: the clusters are the seeds alone.
	WithoutGarden bool

	// From is a checkpoint to start. Name, seeds and slot are its own then, and the links are opened at their addresses.
	// Nodes are not started: AfterClusters revives them, in an order that fits their pods.
	From *checkpoint.Checkpoint

	// Images that process nodes know beside those of the landscape itself.
	Images []Image

	// Extras names processes of no cluster, started side by side with the clusters.
	Extras func(*Landscape) ([]Extra, error)
	// AfterClusters runs once all API servers serve members of system:masters and the extras are ready, while the rest of
	// the clusters still starts. The landscape is ready after both.
	AfterClusters func(context.Context, *Landscape) error

	// Shoots says how the forward proxies find shoots; nil asks the landscape's DNS and trusts the system's authorities.
	Shoots func(*Landscape) Shoots

	// Lock is the run directory's, when the caller took it and made the directory a fresh one; it stays the caller's.
	// Nil lets Start do so.
	Lock *rundir.Lock

	Progress func(Progress) // gets what happens, one call at a time; may be nil
	Log      logr.Logger
}

// Hosted is a seed whose API server is a shoot's.
type Hosted struct {
	Host string // the public name of the API server
	// OnMachines is for a seed whose nodes are machines of the shoot. Extras run their pods (sim/nodes/real), and serve
	// the API server at the address of the Service default/kubernetes.
	OnMachines bool
}

// Shoots is how shoots are reached by name.
type Shoots struct {
	Resolve forward.ResolveFunc              // nil asks the landscape's DNS
	Roots   func(host string) *x509.CertPool // the authorities trusted for a host
}

// Progress is one line of news about a start.
type Progress struct {
	Subject string `json:"subject"` // "garden", "control-plane binary", …
	What    string `json:"what"`
	Done    int    `json:"done,omitempty"`  // of Total
	Total   int    `json:"total,omitempty"` // 0 for what is not counted
}

func (o *Options) complete() error {
	if from := o.From; from != nil {
		slot := address.Slot(from.Slot)
		o.Name, o.Seeds, o.Slot = from.Name, from.Seeds, &slot
	}
	o.Name = cmp.Or(o.Name, rundir.DefaultName)
	if o.Seeds == nil {
		o.Seeds = []string{"a", "b"}
	}
	if err := o.Check(); err != nil {
		return err
	}
	if o.Executable == "" {
		executable, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the transplant executable: %w", err)
		}
		o.Executable = executable
	}
	if progress := o.Progress; progress != nil {
		var turn sync.Mutex
		o.Progress = func(p Progress) { turn.Lock(); defer turn.Unlock(); progress(p) }
	} else {
		o.Progress = func(Progress) {}
	}
	return nil
}

// Check says what is wrong with the seeds and the slot, before anything is made of them. Start checks it, too.
func (o *Options) Check() error {
	if all := len(o.Seeds) + o.RealNodes; all >= address.MaxClusters {
		what := "seeds"
		if o.RealNodes > 0 {
			what = "seeds and shoots with real nodes"
		}
		return fmt.Errorf("plan the landscape: %d %s, at most %d fit", all, what, address.MaxClusters-1)
	}
	for i, seed := range o.Seeds {
		if problems := validation.IsDNS1123Label(seed); len(problems) > 0 {
			return fmt.Errorf("name the seed %q: %s", seed, problems[0])
		}
		if seed == GardenName || slices.Contains(o.Seeds[:i], seed) {
			return fmt.Errorf("name the seed %q: the name is used twice", seed)
		}
	}
	if o.Slot != nil {
		return o.Slot.Check()
	}
	return nil
}

func (o *Options) dir() (rundir.Dir, error) {
	if o.Dir != "" {
		return rundir.At(o.Name, o.Dir), nil
	}
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, err
	}
	return rundir.Of(home, o.Name)
}

func (o *Options) names() []string {
	if o.WithoutGarden {
		return o.Seeds
	}
	return append([]string{GardenName}, o.Seeds...)
}
