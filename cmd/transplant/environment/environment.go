// Package environment sets up a landscape for the product: definitions, roles, identities and their kubeconfigs,
// the simulated cloud, and the actors. What it applies is in manifests, the same for every backend.
//
// It is the only place that knows both the harness and the product. It runs no scenario and injects no fault by itself.
package environment

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/checkpoint"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/realnodes"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Settings are the periods of the product (docs/ownership.md#spec-9-4), as its flags want them.
type Settings struct {
	OwnerCheckInterval, OwnerCheckTimeout time.Duration
	DeltaInterval, FullSnapshotInterval   time.Duration
	DNSTTL, WaitInterval, LeaseInterval   time.Duration
	SeedLossGracePeriod                   time.Duration
	SyncPeriod                            time.Duration
	ReconcileInMaintenanceOnly            bool
	RetryDuration, ThrottledRetryPeriod   time.Duration
	CareSyncPeriod, CareThreshold         time.Duration
	RemediateWebhooks                     bool
	CleanupTimeout                        time.Duration
	RestoresAtOnce                        int
	SecondSign                            bool
}

// SeedMonitorPeriod is after how many missed renewals of its lease a seed counts as silent.
func (s Settings) SeedMonitorPeriod() time.Duration {
	return min(4*s.LeaseInterval, s.SeedLossGracePeriod)
}

// ThrottledRetryJitter is what chance adds to ThrottledRetryPeriod at most: the share that it has by default.
func (s Settings) ThrottledRetryJitter() time.Duration { return s.ThrottledRetryPeriod / 2 }

// HealthCheckInterval is that of the extensions. Care gathers what they have found: it must not be much older than what
// care sees by itself.
func (s Settings) HealthCheckInterval() time.Duration { return s.CareSyncPeriod / 5 }

// CareThresholds gives every condition of a shoot the same threshold, as the gardenlet's flag wants it.
func (s Settings) CareThresholds() string {
	var all []string
	for _, kind := range []gardencorev1beta1.ConditionType{
		gardencorev1beta1.ShootAPIServerAvailable, gardencorev1beta1.ShootControlPlaneHealthy,
		gardencorev1beta1.ShootObservabilityComponentsHealthy,
		gardencorev1beta1.ShootEveryNodeReady, gardencorev1beta1.ShootSystemComponentsHealthy,
	} {
		all = append(all, fmt.Sprintf("%s=%s", kind, s.CareThreshold))
	}
	return strings.Join(all, ",")
}

// ScenarioSettings are those of the column "in scenarios" of docs/ownership.md#spec-9-4.
var ScenarioSettings = Settings{
	OwnerCheckInterval: time.Second, OwnerCheckTimeout: 5 * time.Second,
	DeltaInterval: time.Second, FullSnapshotInterval: 5 * time.Minute,
	DNSTTL: time.Second, WaitInterval: time.Second, LeaseInterval: time.Second,
	SeedLossGracePeriod: 10 * time.Second, RestoresAtOnce: 20,
	SyncPeriod: time.Hour, CareSyncPeriod: 5 * time.Second, CareThreshold: time.Minute,
	CleanupTimeout: 10 * time.Minute, RetryDuration: 12 * time.Hour, ThrottledRetryPeriod: 10 * time.Minute,
}

// Environment is a landscape set up for the product.
type Environment struct {
	Settings Settings
	// Regions of seeds, by name; those that it does not know are in landscape.Home.
	Regions map[string]string
	// Taints of seeds, by name.
	Taints map[string][]landscape.Taint
	// Hosted are the seeds that are shoots, in the order in which they are made.
	Hosted []landscape.Hosted
	// RealNodes are the shoots whose nodes run pods; nil for none.
	RealNodes *realnodes.Shoots
	// Garden is what is said of the garden.
	Garden landscape.GardenSpec
	// Third-party extensions, on every seed.
	Extensions []landscape.Extension
	// Tolerable are the keys of taints that shoots may tolerate.
	Tolerable []string
	// User that actors run as; 0 leaves it to their image.
	User int64
	// Buckets says where the contents of the cloud's buckets lie; nil for the run directory.
	Buckets *Buckets
	// ChaosMesh is what kind clusters get besides; nil for nothing.
	ChaosMesh *ChaosMesh

	tokens    map[string]string // of the cloud, by identity
	published *published
	// portHolders names the programs that listen at a port, where all pods share those of this machine.
	portHolders func(port int) []string
	named       podNames // of a landscape that has not come up
}

// New makes a Environment. It must be given to exactly one landscape.
func New(settings Settings) *Environment {
	return &Environment{Settings: settings, tokens: map[string]string{}, published: &published{}}
}

// Configure completes the options of an embedded landscape.
func (s *Environment) Configure(options *embedded.Options) {
	options.Extras = func(l *embedded.Landscape) ([]embedded.Extra, error) {
		companions, err := s.companions(l)
		var extras []embedded.Extra
		for _, c := range companions {
			extras = append(extras, embedded.Extra{Name: c.Name, Args: c.Args, Inherit: inherited(c), ReadyURL: c.ReadyURL,
				Metrics: c.Metrics})
		}
		return extras, err
	}
	options.Hosted, options.RealNodes = hostedClusters(s.Hosted), s.RealNodes.Slices()
	options.GardenMembers = s.Garden.Members
	options.Images = embeddedImages(s.Extensions)
	s.portHolders = address.PortHolders
	options.AfterClusters = func(ctx context.Context, l *embedded.Landscape) error {
		if options.From != nil {
			return s.resume(ctx, l)
		}
		if err := offerOutside(s, l); err != nil {
			return err
		}
		first := append([]string{landscape.Garden}, firstSeeds(l)...)
		if err := s.watched(ctx, l, first, s.bringUp); err != nil {
			return err
		}
		if s.Garden.Backup {
			if err := backUpGarden(ctx, s, l); err != nil {
				return err
			}
		}
		return bringUpHosted(ctx, s, l)
	}
	options.Shoots = func(*embedded.Landscape) embedded.Shoots { return embedded.Shoots{Roots: s.published.roots} }
}

// Identities of the cloud that belong to no seed, for CloudAs.
const (
	CloudAdmin    = "admin"
	CloudObserver = "observer"
	cloudNodes    = "nodes"
)

// Companions, by their subcommands.
const (
	cloudProgram = "cloud"
	nodesProgram = "nodes"
)

// kubeletPort is that of kubelets.
const kubeletPort = "10250"

// companions are the cloud and the process that stands for the machines.
func (s *Environment) companions(l Landscape) ([]clusters.Companion, error) {
	if err := s.writeTokens(l); err != nil {
		return nil, err
	}
	addresses, metrics := l.CloudAddresses(), l.MetricsAddress(cloudProgram)
	host, _, err := net.SplitHostPort(addresses.API)
	if err != nil {
		return nil, fmt.Errorf("read the cloud's address: %w", err)
	}
	certificate, key, err := l.Authorities().IssueServing("cloud", host)
	if err != nil {
		return nil, err
	}
	nodes, err := s.nodes(l)
	if err != nil {
		return nil, err
	}
	folder, tokens := l.Dir().Join("cloud"), l.Dir().Join("cloud-tokens.yaml")
	cloud := clusters.Companion{
		Name: cloudProgram, Metrics: metrics.Reach,
		Args: []string{cloudProgram,
			"--metrics-bind-address=" + metrics.Listen,
			"--dir=" + folder,
			"--listen=" + addresses.ListenAPI,
			"--dns-listen=" + addresses.ListenDNS,
			"--serving-cert=" + certificate, "--serving-key=" + key,
			"--tokens=" + tokens,
		},
		Reads: []string{certificate, key, tokens}, Writes: []string{folder},
		ReadyURL: "https://" + addresses.API + "/healthz",
	}
	cloud.Args = append(cloud.Args, s.RealNodes.CloudFlags(l)...)
	if s.Buckets != nil && s.Buckets.URL != "" {
		store, err := s.Buckets.of(l.Dir().Name)
		if err != nil {
			return nil, err
		}
		cloud.Args, cloud.Env = append(cloud.Args, "--"+bucketFlag+"="+store), credentials
		err = checkpoint.Refuse(l.Dir(), "its buckets are in "+s.Buckets.URL)
		if err != nil {
			return nil, err
		}
	}
	for _, refused := range []struct {
		is  bool
		why string
	}{
		{len(s.Hosted) > 0, "some of its seeds are shoots"},
		{s.RealNodes.Count() > 0, "nodes of its shoots run pods"},
		{s.Garden.Backup, "its garden is backed up"},
		{len(s.Garden.Members) > 0, "the garden's etcd is on its seeds"},
		{len(s.Extensions) > 0, "the programs of its third-party extensions are elsewhere"},
	} {
		if refused.is {
			if err := checkpoint.Refuse(l.Dir(), refused.why); err != nil {
				return nil, err
			}
		}
	}
	return []clusters.Companion{cloud, nodes}, nil
}

// nodes is the process of the machines. It reaches the cloud and the shoots by links of its own.
func (s *Environment) nodes(l Landscape) (clusters.Companion, error) {
	kubeconfig, err := s.cloudKubeconfig(l, cloudNodes)
	if err != nil {
		return clusters.Companion{}, err
	}
	if err := l.Dir().WriteKubeconfig(cloudNodes, switchboard.Cloud, kubeconfig); err != nil {
		return clusters.Companion{}, err
	}
	proxy, err := l.Links().Proxy(cloudNodes)
	if err != nil {
		return clusters.Companion{}, err
	}
	ca := l.Dir().Join("links-ca.crt")
	if err := os.WriteFile(ca, l.Links().CA(), 0o600); err != nil {
		return clusters.Companion{}, fmt.Errorf("write the links' certificate authority: %w", err)
	}
	access, folder, metrics := l.Dir().Kubeconfig(cloudNodes, switchboard.Cloud), l.Dir().Join(program.NodesFolder),
		l.MetricsAddress(nodesProgram)
	host, _, err := net.SplitHostPort(metrics.Listen)
	if err != nil {
		return clusters.Companion{}, fmt.Errorf("read the address of the nodes: %w", err)
	}
	realNodes, err := s.RealNodes.Flags(l, l.CloudAddresses().DNS, TechnicalID)
	if err != nil {
		return clusters.Companion{}, err
	}
	return clusters.Companion{Name: nodesProgram, Metrics: metrics.Reach, Reads: []string{access, ca},
		Writes: []string{folder}, Args: append([]string{nodesProgram,
			"--metrics-bind-address=" + metrics.Listen,
			"--kubelet-bind-address=" + net.JoinHostPort(host, kubeletPort),
			"--cloud-kubeconfig=" + access,
			"--proxy-url=" + proxy.URL(),
			"--proxy-ca=" + ca,
			"--kwok=" + l.ControlPlane(),
			"--root-dir=" + folder,
		}, realNodes...)}, nil
}

// writeTokens gives everybody who calls the cloud a token.
func (s *Environment) writeTokens(l Landscape) error {
	file := simcloud.TokenFile{}
	path := l.Dir().Join("cloud-tokens.yaml")
	switch content, err := os.ReadFile(path); {
	case err == nil: // of a checkpoint
		err = yaml.UnmarshalStrict(content, &file)
		for _, t := range file.Tokens {
			s.tokens[t.Identity] = t.Token
		}
		return err
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("read the cloud's tokens: %w", err)
	}
	of := "" // the seed whose actors get tokens
	add := func(identity string, roles ...simcloud.Role) {
		s.tokens[identity] = newToken()
		file.Tokens = append(file.Tokens, simcloud.Token{Token: s.tokens[identity], Identity: identity, Seed: of,
			Roles: roles})
	}
	add(CloudAdmin, simcloud.RoleAdmin)
	add(CloudObserver, simcloud.RoleObserver)
	add(cloudNodes, simcloud.RoleNodes)
	add(gcm, simcloud.RolePolicies)
	if s.Garden.Backup {
		s.tokens[landscape.GardenBackup] = newToken()
		file.Tokens = append(file.Tokens, gardenBackupToken(s.tokens[landscape.GardenBackup]))
	}
	of = constants.SeedOutside
	add(of, simcloud.RoleControlPlane)
	for _, of = range Seeds(l) {
		for actor, roles := range seedActors(of) {
			add(actor, roles...)
		}
		for _, e := range s.Extensions {
			add(e.ActorOn(of), extensionRoles(e)...)
		}
	}
	content, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("encode the cloud's tokens: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write the cloud's tokens: %w", err)
	}
	return nil
}

func newToken() string {
	token := make([]byte, 24)
	_, _ = rand.Read(token) // never fails
	return hex.EncodeToString(token)
}

// seedActors are those of a seed that call the cloud, with what they have to do there. The token of control planes is
// confined to a shoot before it is good for anything.
func seedActors(seed string) map[string][]simcloud.Role {
	return map[string][]simcloud.Role{
		"gardenlet-" + seed:      {simcloud.RoleGardenlet},
		"extensions-" + seed:     {simcloud.RoleProvider, simcloud.RoleBackups},
		"control-planes-" + seed: {simcloud.RoleControlPlane},
	}
}

// extensionRoles are those of a third-party extension: it has to do with backups only if it reconciles them.
func extensionRoles(e landscape.Extension) []simcloud.Role {
	roles := []simcloud.Role{simcloud.RoleProvider}
	if slices.ContainsFunc(e.Resources, func(r landscape.ExtensionResource) bool {
		return r.Kind == extensionsv1alpha1.BackupBucketResource || r.Kind == extensionsv1alpha1.BackupEntryResource
	}) {
		roles = append(roles, simcloud.RoleBackups)
	}
	return roles
}

// bringUp brings everything on the clusters that have API servers of their own, all clusters at the same time; actors
// come last.
func (s *Environment) bringUp(ctx context.Context, l Landscape) error {
	garden, err := ObserverClient(l, landscape.Garden)
	if err != nil {
		return err
	}
	// The garden's base comes first: seeds' actors have identities there.
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.makeZones(groupCtx, l) })
	group.Go(func() error { return s.setUpGarden(groupCtx, l, garden) })
	clients := map[string]client.Client{}
	for _, seed := range firstSeeds(l) {
		observer, err := ObserverClient(l, seed)
		if err != nil {
			return err
		}
		clients[seed] = observer // not for the goroutines: the next seed's is written while they run
		group.Go(func() error { return s.prepareSeed(groupCtx, l, observer, seed) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.published.watch(ctx, l); err != nil {
		return err
	}
	group, groupCtx = errgroup.WithContext(ctx)
	group.Go(func() error { return awaitActors(groupCtx, garden, landscape.Garden) })
	for _, seed := range firstSeeds(l) {
		group.Go(func() error {
			if err := s.startSeed(groupCtx, l, clients[seed], seed); err != nil {
				return err
			}
			if err := awaitActors(groupCtx, clients[seed], seed); err != nil {
				return err
			}
			return awaitSeed(groupCtx, garden, seed)
		})
	}
	return group.Wait()
}
