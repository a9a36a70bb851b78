// Package observe looks at a landscape that has been set up. It finds shoots and their control planes, asks guards,
// takes the inventory, and lists the processes in pods. It changes nothing, and harms nothing.
package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Where something is gets asked many times a second: an API server answers that from its memory, without its etcd. What
// it is, is then read as it stands.
var cachedGet = &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}

// Observer looks at a landscape that has been set up: at its clusters, its cloud and its processes. It uses no link, so
// no fault acts on it.
type Observer struct {
	Landscape   environment.Landscape
	Environment *environment.Environment
	Garden      client.Client
	SeedClients map[string]client.Client // by seed

	cloud  *cloud.Client
	guards *guards
	where  *locations // nil in tests: everybody is asked then
}

// New looks at a landscape that is ready.
func New(l environment.Landscape, s *environment.Environment) (*Observer, error) {
	o := &Observer{Landscape: l, Environment: s, SeedClients: map[string]client.Client{}}
	garden, err := environment.ObserverClient(l, landscape.Garden)
	if err != nil {
		return nil, err
	}
	watched := map[string]client.WithWatch{}
	for _, seed := range environment.Seeds(l) {
		if watched[seed], err = environment.ObserverClient(l, seed); err != nil {
			return nil, err
		}
		o.SeedClients[seed] = watched[seed]
	}
	if o.cloud, err = s.CloudAs(l, environment.CloudObserver); err != nil {
		return nil, err
	}
	o.guards = &guards{landscape: l, seeds: o.SeedClients}
	o.Garden, o.where = garden, newLocations(garden, watched)
	o.where.follow()
	return o, nil
}

// Seeds implements world.World.
func (o *Observer) Seeds() []string { return environment.Seeds(o.Landscape) }

// Connect implements world.World.
func (o *Observer) Connect(cluster string) (*rest.Config, error) {
	c, err := o.Landscape.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	config, err := c.Connect(clusters.Observer)
	if err != nil {
		return nil, err
	}
	// The observer lists everything by discovery, deprecated versions too: warnings of that are no news.
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// Cloud implements world.World.
func (o *Observer) Cloud() *cloud.Client { return o.cloud }

// Stop implements world.World.
func (o *Observer) Stop(ctx context.Context) error {
	o.where.end()
	return o.Landscape.Stop(ctx)
}

// ShootKey implements world.World.
func (*Observer) ShootKey(shoot string) types.NamespacedName { return environment.ShootKey(shoot) }

// ShootManifest implements world.World.
func (o *Observer) ShootManifest(wanted landscape.Shoot) (*gardencorev1beta1.Shoot, error) {
	return o.Environment.ShootManifest(wanted)
}

// ConnectShoot implements world.World.
func (o *Observer) ConnectShoot(ctx context.Context, shoot, actor string) (*rest.Config, error) {
	if actor == world.Observer {
		access, err := o.access(ctx, shoot)
		if err != nil {
			return nil, err
		}
		return o.direct(ctx, shoot, access)
	}
	access, err := o.keptAccess(ctx, shoot)
	if err != nil {
		return nil, err
	}
	proxy, err := o.Landscape.Links().Proxy(actor)
	if err != nil {
		return nil, err
	}
	through, err := url.Parse(proxy.URL())
	if err != nil {
		return nil, fmt.Errorf("parse the address of the proxy of %q: %w", actor, err)
	}
	config, err := environment.UsersAccess(shoot, access)
	if err != nil {
		return nil, err
	}
	config.Proxy = http.ProxyURL(through)
	config.CAData = bytes.Join([][]byte{config.CAData, o.Landscape.Links().CA()}, []byte("\n"))
	return config, nil
}

// access to a shoot, as its gardenlet has published it in the garden; for reading only.
func (o *Observer) access(ctx context.Context, shoot string) (*corev1.Secret, error) {
	key := accessKey(o.ShootKey(shoot))
	if o.where != nil {
		if access, current := o.where.access.get(key); current {
			return access, nil
		}
	}
	access := &corev1.Secret{}
	if err := o.Garden.Get(ctx, key, access, cachedGet); err != nil {
		return nil, fmt.Errorf("read the access of shoot %q: %w", shoot, err)
	}
	return access, nil
}

// keptAccess to a shoot is what its users have: while the garden is away, it is what the garden has said before. They
// reach the shoot without the garden.
func (o *Observer) keptAccess(ctx context.Context, shoot string) (*corev1.Secret, error) {
	if o.where != nil {
		if access, was := o.where.access.lastKnown(accessKey(o.ShootKey(shoot))); was {
			return access, nil
		}
	}
	return o.access(ctx, shoot)
}

// accessKey is namespace and name of the Secret with the access to a shoot.
func accessKey(shoot types.NamespacedName) types.NamespacedName {
	shoot.Name += ".kubeconfig"
	return shoot
}

const apiPort = 6443 // of a shoot's API server

// direct is the way of the observer to the control plane that the Shoot's status points to.
func (o *Observer) direct(ctx context.Context, shoot string, access *corev1.Secret) (*rest.Config, error) {
	seed, err := o.SeedOf(ctx, shoot)
	if err != nil {
		return nil, err
	}
	if seed == constants.SeedOutside {
		plane := outsidePlane(o.Landscape.Dir(), shoot, access)
		if plane == nil {
			return nil, world.NoAPIServer{Shoot: shoot, Seed: seed}
		}
		return plane.API, nil
	}
	if o.SeedClients[seed] == nil {
		return nil, fmt.Errorf("shoot %q is on no seed yet", shoot)
	}
	pod, err := o.knownPod(ctx, seed, shoot, workload.KubeAPIServer)
	if err != nil {
		return nil, err
	}
	if pod == nil {
		return nil, world.NoAPIServer{Shoot: shoot, Seed: seed}
	}
	return apiOf(ctx, o.Landscape, seed, pod, access)
}

// SeedOf a shoot by its status; empty while there is none.
func (o *Observer) SeedOf(ctx context.Context, shoot string) (string, error) {
	if o.where != nil {
		if object, current := o.where.shoots.get(o.ShootKey(shoot)); current {
			return ptr.Deref(object.Status.SeedName, ""), nil
		}
	}
	object := &gardencorev1beta1.Shoot{}
	if err := o.Garden.Get(ctx, o.ShootKey(shoot), object, cachedGet); err != nil {
		return "", fmt.Errorf("read shoot %q: %w", shoot, err)
	}
	return ptr.Deref(object.Status.SeedName, ""), nil
}

// apiOf is the observer's access to the API server in a pod.
func apiOf(ctx context.Context, l environment.Landscape, seed string, pod *corev1.Pod,
	access *corev1.Secret) (*rest.Config, error) {
	address, err := l.Reach(ctx, seed, pod, apiPort)
	if err != nil {
		return nil, err
	}
	return apiAt(address, access), nil
}

// apiAt is the observer's access to the API server at an address.
func apiAt(address string, access *corev1.Secret) *rest.Config {
	config := &rest.Config{Host: "https://" + address, BearerToken: string(access.Data["token"])}
	config.CAData, config.ServerName = access.Data["ca.crt"], workload.ServiceKubeAPIServer
	return config
}

// knownPod is Pod for probes: from what is watched, as long as it is.
func (o *Observer) knownPod(ctx context.Context, seed, shoot, role string) (*corev1.Pod, error) {
	if o.where != nil {
		found, current := o.where.pods[seed].all(func(pod *corev1.Pod) bool {
			return pod.Namespace == environment.TechnicalID(shoot) && pod.Labels[constants.LabelRole] == role && answers(pod)
		})
		switch {
		case current && len(found) == 0:
			return nil, nil
		case current:
			return slices.MinFunc(found, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }), nil
		}
	}
	return o.Pod(ctx, seed, shoot, role)
}

// answers says whether a pod has an address at which somebody may be.
func answers(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && pod.Status.Phase == corev1.PodRunning
}

// Pod finds the pod of one role of a control plane that has an address; nil if there is none.
func (o *Observer) Pod(ctx context.Context, seed, shoot, role string) (*corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := o.SeedClients[seed].List(ctx, pods, client.InNamespace(environment.TechnicalID(shoot)),
		client.MatchingLabels{constants.LabelRole: role}, environment.CachedList())
	if err != nil {
		return nil, fmt.Errorf("list the pods of %q of shoot %q on seed %q: %w", role, shoot, seed, err)
	}
	for i := range pods.Items {
		if answers(&pods.Items[i]) {
			return &pods.Items[i], nil
		}
	}
	return nil, nil
}

// ControlPlanes implements world.World.
func (o *Observer) ControlPlanes(ctx context.Context, shoot string) ([]world.ControlPlane, error) {
	access, err := o.access(ctx, shoot)
	if err != nil {
		return nil, err
	}
	// All at once: a seed that does not answer must not keep the others from being looked at.
	seeds := o.Seeds()
	planes, errs := make([]*world.ControlPlane, len(seeds)), make([]error, len(seeds))
	var asked sync.WaitGroup
	for i, seed := range seeds {
		asked.Go(func() { planes[i], errs[i] = o.controlPlane(ctx, seed, shoot, access) })
	}
	asked.Wait()
	var found []world.ControlPlane
	for _, plane := range planes {
		if plane != nil {
			found = append(found, *plane)
		}
	}
	if plane := outsidePlane(o.Landscape.Dir(), shoot, access); plane != nil {
		found = append(found, *plane)
	}
	return found, errors.Join(errs...)
}

func (o *Observer) controlPlane(ctx context.Context, seed, shoot string, access *corev1.Secret) (*world.ControlPlane,
	error) {
	if until, bounded := ctx.Deadline(); bounded { // whoever is found elsewhere is to be asked afterwards
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(until)/2)
		defer cancel()
	}
	etcd, err := o.knownPod(ctx, seed, shoot, workload.Etcd)
	if err != nil || etcd == nil {
		return nil, err
	}
	plane := &world.ControlPlane{Seed: seed, Validity: o.guards.validityOf(seed, etcd)}
	api, err := o.knownPod(ctx, seed, shoot, workload.KubeAPIServer)
	if err != nil || api == nil {
		return plane, err
	}
	plane.ShootUID = publisherOf(access)
	plane.API, err = apiOf(ctx, o.Landscape, seed, api, access)
	return plane, err
}

// publisherOf a shoot's access is the Shoot that owns it; empty if none does.
func publisherOf(access *corev1.Secret) types.UID {
	for _, owner := range access.OwnerReferences {
		if owner.Kind == "Shoot" {
			return owner.UID
		}
	}
	return ""
}

// Ready implements world.World: every actor is a Deployment.
func (o *Observer) Ready(ctx context.Context) error {
	if err := environment.CheckActors(ctx, o.Garden); err != nil {
		return fmt.Errorf("look whether the actors of the garden are ready: %w", err)
	}
	for _, seed := range o.Seeds() {
		if err := environment.CheckActors(ctx, o.SeedClients[seed]); err != nil {
			return fmt.Errorf("look whether the actors of seed %q are ready: %w", seed, err)
		}
	}
	return nil
}

// OwnerOf implements world.PodOwners.
func (*Observer) OwnerOf(cluster string, pod *corev1.Pod) (world.PodOwner, bool) {
	return environment.Owners{}.OwnerOf(cluster, pod)
}

// KeepLogs implements world.World.
func (o *Observer) KeepLogs(ctx context.Context, folder string) error {
	return environment.KeepLogs(ctx, o.Landscape, folder)
}
