package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
)

const (
	// AnnotationSNIHosts lists, separated by commas, the names under which clients reach a Service.
	AnnotationSNIHosts = "networking.transplant.dev/sni-hosts"

	serviceAPIServer  = "kube-apiserver"
	serviceEtcdClient = access.ServerName
)

// watcher keeps the table in step with the Services of the seed.
type watcher struct {
	table      *table
	services   corelisters.ServiceLister
	namespaces corelisters.NamespaceLister
	queue      workqueue.TypedRateLimitingInterface[string]
}

// watch keeps the table in step until ctx is done. ready is called when all routes of the beginning are there.
func watch(ctx context.Context, client kubernetes.Interface, table *table,
	ready func(corelisters.ServiceLister)) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0)
	w := &watcher{
		table: table, services: factory.Core().V1().Services().Lister(),
		namespaces: factory.Core().V1().Namespaces().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](
			50*time.Millisecond, 10*time.Second)),
	}
	keys := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, access.Gateway.Secret()).String()
		}))
	secrets := keys.Core().V1().Secrets().Lister()
	table.guardAccess = func(namespace string) (access.Credentials, error) {
		secret, err := secrets.Secrets(namespace).Get(access.Gateway.Secret())
		if err != nil {
			return access.Credentials{}, fmt.Errorf("read the credentials for the guard of %q: %w", namespace, err)
		}
		return access.FromSecret(secret.Data), nil
	}
	seen := []cache.InformerSynced{keys.Core().V1().Secrets().Informer().HasSynced}
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Services().Informer(),
		factory.Core().V1().Namespaces().Informer()} {
		handler, err := informer.AddEventHandler(w.enqueue())
		if err != nil {
			return fmt.Errorf("watch the seed's services: %w", err)
		}
		seen = append(seen, informer.HasSynced, handler.HasSynced)
	}
	for _, f := range []informers.SharedInformerFactory{factory, keys} {
		f.Start(ctx.Done())
		defer f.Shutdown()
	}
	if !cache.WaitForCacheSync(ctx.Done(), seen...) {
		return nil // ctx is done
	}
	go func() {
		<-ctx.Done()
		w.queue.ShutDown()
	}()
	for w.queue.Len() > 0 && w.next() {
	}
	ready(w.services)
	for w.next() {
	}
	return nil
}

// enqueue puts the namespace that an event is about into the queue.
func (w *watcher) enqueue() cache.ResourceEventHandlerFuncs {
	add := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		switch o := object.(type) {
		case *corev1.Namespace:
			w.queue.Add(o.Name)
		case metav1.Object:
			w.queue.Add(o.GetNamespace())
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add}
}

func (w *watcher) next() bool {
	namespace, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(namespace)
	want, err := w.targetOf(namespace)
	if err == nil {
		err = w.table.set(namespace, want)
	}
	if err != nil {
		w.table.log.Error(err, "A route cannot be made and is tried again", "namespace", namespace)
		w.queue.AddRateLimited(namespace)
		return true
	}
	w.queue.Forget(namespace)
	return true
}

// targetOf reads what the namespace's route should be; nil if it should have none.
func (w *watcher) targetOf(name string) (*target, error) {
	namespace, err := w.namespaces.Get(name)
	if apierrors.IsNotFound(err) || (err == nil && namespace.Labels[constants.GardenRole] != constants.GardenRoleShoot) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	apiServer, err := w.service(name, serviceAPIServer)
	if err != nil || apiServer == nil {
		return nil, err
	}
	etcd, err := w.service(name, serviceEtcdClient)
	if err != nil || etcd == nil {
		return nil, err
	}
	t := &target{namespace: name, hosts: hostsOf(apiServer), guard: "https://" + net.JoinHostPort(etcd.Spec.ClusterIP,
		strconv.Itoa(access.GuardPort))}
	if len(t.hosts) == 0 {
		return nil, nil
	}
	if len(apiServer.Spec.Ports) == 0 {
		return nil, errors.New("the service kube-apiserver has no port")
	}
	t.address = net.JoinHostPort(apiServer.Spec.ClusterIP, strconv.Itoa(int(apiServer.Spec.Ports[0].Port)))
	return t, nil
}

// service reads a Service that has an address; nil if there is none.
func (w *watcher) service(namespace, name string) (*corev1.Service, error) {
	service, err := w.services.Services(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || net.ParseIP(service.Spec.ClusterIP) == nil {
		return nil, err
	}
	return service, nil
}

func hostsOf(service *corev1.Service) []string {
	var hosts []string
	for host := range strings.SplitSeq(service.Annotations[AnnotationSNIHosts], ",") {
		if host = strings.ToLower(strings.TrimSpace(host)); host != "" {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
