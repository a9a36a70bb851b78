package environment

import (
	"bytes"
	"cmp"
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
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Where something is gets asked many times a second: an API server answers that from its memory, without its etcd. What
// it is, is then read as it stands.
var cachedGet = &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}

// cachedList is made anew for each list: the client writes the selectors of a list into it, where the next one, or one
// at the same time, would find them.
func cachedList() *client.ListOptions {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
}

// World is a landscape as a run uses it.
type World struct {
	landscape Landscape
	env       *Environment
	garden    client.Client
	seeds     map[string]client.Client
	cloud     *cloud.Client
	guards    sync.Map   // *http.Client by guardKey
	where     *locations // nil in tests: everybody is asked then
}

var _ world.World = &World{}

// NewWorld looks at a landscape that is ready.
func NewWorld(l Landscape, s *Environment) (*World, error) {
	w := &World{landscape: l, env: s, seeds: map[string]client.Client{}}
	garden, err := observe(l, landscape.Garden)
	if err != nil {
		return nil, err
	}
	watched := map[string]client.WithWatch{}
	for _, seed := range seeds(l) {
		if watched[seed], err = observe(l, seed); err != nil {
			return nil, err
		}
		w.seeds[seed] = watched[seed]
	}
	if w.cloud, err = s.CloudAs(l, cloudObserver); err != nil {
		return nil, err
	}
	w.garden, w.where = garden, newLocations(garden, watched)
	w.where.follow()
	return w, nil
}

// Seeds implements world.World.
func (w *World) Seeds() []string { return seeds(w.landscape) }

// Connect implements world.World.
func (w *World) Connect(cluster string) (*rest.Config, error) {
	c, err := w.landscape.Cluster(cluster)
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
func (w *World) Cloud() *cloud.Client { return w.cloud }

// Stop implements world.World.
func (w *World) Stop(ctx context.Context) error {
	w.where.end()
	return w.landscape.Stop(ctx)
}

// ShootKey implements world.World.
func (w *World) ShootKey(shoot string) types.NamespacedName {
	return types.NamespacedName{Namespace: constants.ProjectNamespacePrefix + Project, Name: shoot}
}

// ShootManifest implements world.World.
func (w *World) ShootManifest(wanted landscape.Shoot) (*gardencorev1beta1.Shoot, error) {
	key := w.ShootKey(wanted.Name)
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{
			Name: key.Name, Namespace: key.Namespace,
			Annotations: map[string]string{constants.ConfirmationDeletion: constants.LabelTrue},
		},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: landscape.CloudProfile},
			Region:       "here",
			Kubernetes: gardencorev1beta1.Kubernetes{Version: cmp.Or(wanted.Kubernetes,
				landscape.Latest(landscape.Kubernetes()))},
			Provider:    gardencorev1beta1.Provider{Type: "transplant"},
			Networking:  &gardencorev1beta1.Networking{Type: ptr.To("transplant")},
			Maintenance: &gardencorev1beta1.Maintenance{TimeWindow: windowFarFrom(time.Now())},
		},
	}
	if wanted.Seed != "" {
		shoot.Spec.SeedName = ptr.To(wanted.Seed)
	}
	if wanted.ExternalDomain {
		shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To(domainOf(wanted.Name))}
	}
	if wanted.Purpose != "" {
		shoot.Spec.Purpose = ptr.To(gardencorev1beta1.ShootPurpose(wanted.Purpose))
	}
	if wanted.Extended {
		shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "transplant"}}
	}
	for _, e := range w.env.Extensions {
		for _, own := range e.Types() {
			shoot.Spec.Extensions = append(shoot.Spec.Extensions,
				gardencorev1beta1.Extension{Type: own, ProviderConfig: e.ProviderConfig})
		}
	}
	if wanted.Workers > 0 {
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{
			Name: "pool", Minimum: int32(wanted.Workers), Maximum: int32(wanted.Workers), Zones: []string{"here-1"},
			Machine: gardencorev1beta1.Machine{
				Type: "medium",
				Image: &gardencorev1beta1.ShootMachineImage{
					Name: landscape.MachineImage, Version: ptr.To(cmp.Or(wanted.Image, landscape.Latest(landscape.Images()))),
				},
			},
		}}
		if wanted.Extended {
			shoot.Spec.Provider.Workers[0].CRI = &gardencorev1beta1.CRI{
				Name:              gardencorev1beta1.CRINameContainerD,
				ContainerRuntimes: []gardencorev1beta1.ContainerRuntime{{Type: "transplant"}},
			}
		}
		if wanted.UpdateStrategy != "" {
			shoot.Spec.Provider.Workers[0].UpdateStrategy = ptr.To(
				gardencorev1beta1.MachineUpdateStrategy(wanted.UpdateStrategy))
		}
	}
	return shoot, nil
}

// windowFarFrom is a maintenance time window on the other side of the day: what a scenario does not ask for does
// not happen in it. Without one, every moment would be in the window.
func windowFarFrom(now time.Time) *gardencorev1beta1.MaintenanceTimeWindow {
	begin := now.UTC().Add(12 * time.Hour)
	const layout = "150405-0700"
	return &gardencorev1beta1.MaintenanceTimeWindow{Begin: begin.Format(layout), End: begin.Add(time.Hour).Format(layout)}
}

// ConnectShoot implements world.World.
func (w *World) ConnectShoot(ctx context.Context, shoot, actor string) (*rest.Config, error) {
	access, err := w.access(ctx, shoot)
	if err != nil {
		return nil, err
	}
	if actor == world.Observer {
		return w.direct(ctx, shoot, access)
	}
	proxy, err := w.landscape.Proxy(actor)
	if err != nil {
		return nil, err
	}
	through, err := url.Parse(proxy.URL())
	if err != nil {
		return nil, fmt.Errorf("parse the address of the proxy of %q: %w", actor, err)
	}
	config, err := usersAccess(shoot, access)
	if err != nil {
		return nil, err
	}
	config.Proxy = http.ProxyURL(through)
	config.CAData = bytes.Join([][]byte{config.CAData, w.landscape.LinkCA()}, []byte("\n"))
	return config, nil
}

// access to a shoot, as its gardenlet has published it in the garden; for reading only.
func (w *World) access(ctx context.Context, shoot string) (*corev1.Secret, error) {
	key := w.ShootKey(shoot)
	key.Name += ".kubeconfig"
	if w.where != nil {
		if access, current := w.where.access.get(key); current {
			return access, nil
		}
	}
	access := &corev1.Secret{}
	if err := w.garden.Get(ctx, key, access, cachedGet); err != nil {
		return nil, fmt.Errorf("read the access of shoot %q: %w", shoot, err)
	}
	return access, nil
}

// domainOf a shoot is the one that it has if the scenario wants it to have one.
func domainOf(shoot string) string { return shoot + "." + Project + "." + DefaultDomain }

// hostsOf a shoot are all names that its API server may have.
func hostsOf(shoot string) []string {
	return []string{"api." + shoot + "." + Project + "." + Domain, "api." + domainOf(shoot)}
}

const apiPort = 6443 // of a shoot's API server

func technicalID(shoot string) string {
	return constants.TechnicalIDPrefix + Project + "--" + shoot
}

// direct is the way of the observer to the control plane that the Shoot's status points to.
func (w *World) direct(ctx context.Context, shoot string, access *corev1.Secret) (*rest.Config, error) {
	seed, err := w.seedOf(ctx, shoot)
	if err != nil {
		return nil, err
	}
	if w.seeds[seed] == nil {
		return nil, fmt.Errorf("shoot %q is on no seed yet", shoot)
	}
	pod, err := w.knownPod(ctx, seed, shoot, controlplane.DeploymentKubeAPIServer)
	if err != nil {
		return nil, err
	}
	if pod == nil {
		return nil, world.NoAPIServer{Shoot: shoot, Seed: seed}
	}
	return w.apiOf(ctx, seed, pod, access)
}

// seedOf a shoot by its status; empty while there is none.
func (w *World) seedOf(ctx context.Context, shoot string) (string, error) {
	if w.where != nil {
		if object, current := w.where.shoots.get(w.ShootKey(shoot)); current {
			return ptr.Deref(object.Status.SeedName, ""), nil
		}
	}
	object := &gardencorev1beta1.Shoot{}
	if err := w.garden.Get(ctx, w.ShootKey(shoot), object, cachedGet); err != nil {
		return "", fmt.Errorf("read shoot %q: %w", shoot, err)
	}
	return ptr.Deref(object.Status.SeedName, ""), nil
}

func (w *World) apiOf(ctx context.Context, seed string, pod *corev1.Pod, access *corev1.Secret) (*rest.Config, error) {
	address, err := w.landscape.Reach(ctx, seed, pod, apiPort)
	if err != nil {
		return nil, err
	}
	config := &rest.Config{Host: "https://" + address, BearerToken: string(access.Data["token"])}
	config.CAData, config.ServerName = access.Data["ca.crt"], controlplane.ServiceKubeAPIServer
	return config, nil
}

// knownPod is pod for probes: from what is watched, as long as it is.
func (w *World) knownPod(ctx context.Context, seed, shoot, role string) (*corev1.Pod, error) {
	if w.where != nil {
		found, current := w.where.pods[seed].all(func(pod *corev1.Pod) bool {
			return pod.Namespace == technicalID(shoot) && pod.Labels[constants.LabelRole] == role && answers(pod)
		})
		switch {
		case current && len(found) == 0:
			return nil, nil
		case current:
			return slices.MinFunc(found, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }), nil
		}
	}
	return w.pod(ctx, seed, shoot, role)
}

// answers says whether a pod has an address at which somebody may be.
func answers(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && pod.Status.Phase == corev1.PodRunning
}

// pod finds the pod of one role of a control plane that has an address; nil if there is none.
func (w *World) pod(ctx context.Context, seed, shoot, role string) (*corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := w.seeds[seed].List(ctx, pods, client.InNamespace(technicalID(shoot)),
		client.MatchingLabels{constants.LabelRole: role}, cachedList())
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
func (w *World) ControlPlanes(ctx context.Context, shoot string) ([]world.ControlPlane, error) {
	access, err := w.access(ctx, shoot)
	if err != nil {
		return nil, err
	}
	// All at once: a seed that does not answer must not keep the others from being looked at.
	seeds := w.Seeds()
	planes, errs := make([]*world.ControlPlane, len(seeds)), make([]error, len(seeds))
	var asked sync.WaitGroup
	for i, seed := range seeds {
		asked.Go(func() { planes[i], errs[i] = w.controlPlane(ctx, seed, shoot, access) })
	}
	asked.Wait()
	var found []world.ControlPlane
	for _, plane := range planes {
		if plane != nil {
			found = append(found, *plane)
		}
	}
	return found, errors.Join(errs...)
}

func (w *World) controlPlane(ctx context.Context, seed, shoot string, access *corev1.Secret) (*world.ControlPlane,
	error) {
	etcd, err := w.knownPod(ctx, seed, shoot, controlplane.EtcdName)
	if err != nil || etcd == nil {
		return nil, err
	}
	plane := &world.ControlPlane{Seed: seed, Validity: w.validityOf(seed, etcd)}
	api, err := w.knownPod(ctx, seed, shoot, controlplane.DeploymentKubeAPIServer)
	if err != nil || api == nil {
		return plane, err
	}
	plane.ShootUID = publisherOf(access)
	plane.API, err = w.apiOf(ctx, seed, api, access)
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
