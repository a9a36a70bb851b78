package processnode

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/address"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/kubeletapi"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podref"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podvolume"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podworker"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/service"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/storage"
)

// agent is a process node with everything that runs in it.
type agent struct {
	*podworker.Node
	config    Config
	pods      *podworker.Pods
	forwarder *service.Forwarder // nil if others forward services
	folders   *storage.Folders
	server    *kubeletapi.Server

	factory   informers.SharedInformerFactory
	bound     informers.SharedInformerFactory // of the pods bound to this node
	metadata  metadatainformer.SharedInformerFactory
	synced    []cache.InformerSynced
	recording record.EventBroadcaster
}

func newAgent(ctx context.Context, config Config, log logr.Logger) (*agent, error) {
	rc, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	rc.QPS = -1 // its own queues are limit enough
	rc.UserAgent = commandName + "/" + config.Name
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make the client for metadata: %w", err)
	}
	n := &podworker.Node{
		Client: client, Clock: clock.RealClock{}, Log: log, Launcher: container.NewLauncher(commandName, initName),
		Address: config.Address, RootDir: config.RootDir, Machine: config.Machine, Images: config.Images,
		Cloud:          podvolume.DriverOf(config.CloudVolumes),
		RestartBackoff: config.RestartBackoff, MaxRestartBackoff: config.MaxRestartBackoff,
	}
	if n.Capacity, err = parseCapacity(config.Capacity); err != nil {
		return nil, err
	}
	if n.APIServer, err = apiServerOf(config.APIServer, rc); err != nil {
		return nil, err
	}
	if n.Addresses, err = address.Open(config.Pods, filepath.Join(config.RootDir, "pod-addresses.json")); err != nil {
		return nil, err
	}
	recording := record.NewBroadcaster(record.WithContext(ctx))
	source := corev1.EventSource{Component: commandName, Host: config.Name}
	n.Recorder = recording.NewRecorder(clientgoscheme.Scheme, source)
	lean := informers.WithTransform(withoutManagedFields)
	a := &agent{
		Node: n, config: config, recording: recording,
		pods:    podworker.NewPods(ctx, n),
		factory: informers.NewSharedInformerFactoryWithOptions(client, 0, lean),
		bound: informers.NewSharedInformerFactoryWithOptions(client, 0, lean,
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", config.Name).String()
			})),
		metadata: metadatainformer.NewSharedInformerFactory(metadataClient, 0),
		folders: &storage.Folders{
			Client: client, Root: filepath.Join(config.RootDir, "volumes"), Node: config.Name, Recorder: n.Recorder,
			Log: log.WithName("storage"), Machine: config.Machine,
		},
	}
	a.server = &kubeletapi.Server{
		Pods: a.pods, Clock: n.Clock, Log: log, Address: netip.AddrPortFrom(config.Address, config.Port),
		ServingCert: config.ServingCert, ServingKey: config.ServingKey, ClientCA: config.ClientCA,
	}
	return a, a.check()
}

// parseCapacity is the node's capacity as its flags name it.
func parseCapacity(flags map[string]string) (corev1.ResourceList, error) {
	capacity := corev1.ResourceList{}
	for name, text := range flags {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("parse the capacity %s=%q: %w", name, text, err)
		}
		capacity[corev1.ResourceName(name)] = quantity
	}
	return capacity, nil
}

// apiServerOf is the API server's address for pods.
func apiServerOf(flag string, rc *rest.Config) (podenv.APIServer, error) {
	if flag == "" {
		server, err := url.Parse(rc.Host)
		if err != nil {
			return podenv.APIServer{}, fmt.Errorf("parse the API server's address in the kubeconfig: %w", err)
		}
		flag = server.Host
		if server.Port() == "" {
			flag = net.JoinHostPort(server.Hostname(), "443")
		}
	}
	host, port, err := net.SplitHostPort(flag)
	if err != nil {
		return podenv.APIServer{}, fmt.Errorf("parse the API server's address %q: %w", flag, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return podenv.APIServer{}, fmt.Errorf("parse the API server's port %q: %w", port, err)
	}
	return podenv.APIServer{Host: host, Port: int32(number)}, nil
}

// wire ties the parts to the informers.
func (a *agent) wire() error {
	services, boundPods := a.factory.Core().V1().Services(), a.bound.Core().V1().Pods()
	claims, volumes := a.factory.Core().V1().PersistentVolumeClaims(), a.factory.Core().V1().PersistentVolumes()
	a.Services = services.Lister()
	if err := a.folders.Watch(claims.Informer(), volumes.Informer()); err != nil {
		return err
	}
	if err := a.watchReferences(claims.Informer()); err != nil {
		return err
	}
	if a.config.Machine != "" {
		return nil
	}
	loadBalancers, err := address.Open(a.config.LoadBalancers,
		filepath.Join(a.config.RootDir, "load-balancer-addresses.json"))
	if err != nil {
		return err
	}
	a.forwarder = &service.Forwarder{
		Client: a.Client, Services: services.Lister(), Pods: boundPods.Lister(), LoadBalancers: loadBalancers,
		ServiceAddresses: a.config.Services, Node: a.config.Address,
		APIServer: net.JoinHostPort(a.APIServer.Host, strconv.Itoa(int(a.APIServer.Port))),
		Recorder:  a.Recorder, Log: a.Log.WithName("service"), Clock: a.Clock,
	}
	return a.forwarder.Watch(services.Informer(), boundPods.Informer())
}

// watchReferences notifies pods of changes in what they refer to. Of Secrets and ConfigMaps it keeps no contents.
func (a *agent) watchReferences(claims cache.SharedIndexInformer) error {
	secrets := a.metadata.ForResource(corev1.SchemeGroupVersion.WithResource("secrets")).Informer()
	configMaps := a.metadata.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer()
	for kind, informer := range map[string]cache.SharedIndexInformer{podref.KindSecret: secrets,
		podref.KindConfigMap: configMaps, podref.KindClaim: claims} {
		touch := func(object any) {
			if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
				a.pods.Touch(name.Namespace, podref.Object{Kind: kind, Name: name.Name})
			}
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: touch, UpdateFunc: func(_, object any) { touch(object) }, DeleteFunc: touch,
		})
		if err != nil {
			return fmt.Errorf("watch each %s: %w", kind, err)
		}
		a.synced = append(a.synced, registration.HasSynced)
	}
	return nil
}

// withoutManagedFields keeps out of memory what nobody here reads.
func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
