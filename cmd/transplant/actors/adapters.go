package actors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	securityv1alpha1 "github.com/transplant-sim/transplant/api/security/v1alpha1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/backupentry"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/backup"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// Version is the version of all programs of this build: that of a release, or else of the next one.
var Version = version()

func version() string {
	if built, known := debug.ReadBuildInfo(); known && isRelease(built.Main.Version) {
		return built.Main.Version
	}
	return "v0.1.0-dev"
}

// isRelease is whether the main module of a program has this version by a tag, and nothing was changed since.
func isRelease(version string) bool {
	return semver.IsValid(version) && semver.Build(version) == "" && !module.IsPseudoVersion(version)
}

func setUpLogs() { ctrl.SetLogger(klog.Background()) }

func gardenScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(gardencorev1beta1.AddToScheme(scheme))
	utilruntime.Must(securityv1alpha1.AddToScheme(scheme))
	utilruntime.Must(seedmanagementv1alpha1.AddToScheme(scheme))
	utilruntime.Must(transplantv1alpha1.AddToScheme(scheme))
	return scheme
}

func seedScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(extensionsv1alpha1.AddToScheme(scheme))
	utilruntime.Must(machinev1alpha1.AddToScheme(scheme))
	utilruntime.Must(resourcesv1alpha1.AddToScheme(scheme))
	return scheme
}

// authorities are the Lease in the garden and the record in the cloud's DNS.
type authorities struct {
	leases kubernetes.Interface
	txt    *ownership.CloudTXT
}

var _ scope.Authorities = &authorities{}

func (a *authorities) Claim(namespace, lease string) ownership.Authority {
	return &ownership.LeaseAuthority{Leases: a.leases.CoordinationV1().Leases(namespace), Name: lease}
}

func (a *authorities) Decision(record string) ownership.Authority {
	return &ownership.TXTAuthority{Records: a.txt, Name: record}
}

// buckets are the cloud's.
type buckets struct{ cloud *cloud.Client }

var _ scope.Buckets = &buckets{}

func (b *buckets) bucket(name, prefix string) backup.Bucket {
	return backup.CloudBucket{Content: b.cloud.Bucket(name), Prefix: prefix}
}

func (b *buckets) Copy(ctx context.Context, from, to, prefix string, epoch int64, lastGood bool) (leftOut []string,
	err error) {
	manifest, err := backup.Copy(ctx, backup.CopyOptions{
		LastGood: lastGood,
		Source:   b.bucket(from, prefix), Target: b.bucket(to, prefix), Epoch: epoch,
		Clock: clock.RealClock{}, Log: klog.FromContext(ctx),
	})
	for _, object := range manifest.LeftOut {
		leftOut = append(leftOut, object.Key())
	}
	return leftOut, err
}

func (b *buckets) Check(ctx context.Context, bucket, prefix string) error {
	return backup.Check(ctx, b.bucket(bucket, prefix))
}

func (b *buckets) Readable(ctx context.Context, bucket, prefix string) error {
	return backup.Readable(ctx, b.bucket(bucket, prefix))
}

func (b *buckets) Purge(ctx context.Context, bucket, prefix string) error {
	return backup.Purge(ctx, b.bucket(bucket, prefix))
}

func (b *buckets) Superseded(ctx context.Context, bucket, prefix string, epoch int64) (bool, error) {
	newest, err := backup.Newest(ctx, b.bucket(bucket, prefix))
	return newest > epoch, err
}

func (b *buckets) HasFinalSnapshot(ctx context.Context, bucket, prefix string, epoch int64) (bool, error) {
	object, err := backup.FinalSnapshot(ctx, b.bucket(bucket, prefix), epoch)
	return object != nil, err
}

// releaser asks guards about the end of their epoch.
type releaser struct{ clock ownership.Clock }

func (r releaser) Release(ctx context.Context, guard etcd.Guard, epoch int64) error {
	client := guardClient(guard)
	defer client.CloseIdleConnections()
	return validity.Release(ctx, guard.URL, epoch, r.clock, client)
}

func (r releaser) AwaitEnd(ctx context.Context, guard etcd.Guard, epoch int64) error {
	client := guardClient(guard)
	defer client.CloseIdleConnections()
	return validity.AwaitEnd(ctx, guard.URL, epoch, r.clock, client)
}

// guardClient waits longer than a guard lets a question stay open.
func guardClient(guard etcd.Guard) *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: access.Transport(guard.Credentials.Read)}
}

// shootClients reaches shoots by name, through a proxy if there is one.
type shootClients struct {
	proxy *url.URL
	ca    []byte
}

func newShootClients(proxyURL, caFile string) (*shootClients, error) {
	s := &shootClients{}
	var err error
	if s.ca, err = readOptional(caFile); err != nil {
		return nil, fmt.Errorf("read the proxy's certificate authority: %w", err)
	}
	if proxyURL != "" {
		if s.proxy, err = url.Parse(proxyURL); err != nil {
			return nil, fmt.Errorf("parse the proxy's address: %w", err)
		}
	}
	return s, nil
}

// For implements scope.ShootClients.
func (s *shootClients) For(server string, ca []byte, token string) (client.Client, error) {
	mapper, err := client.New(s.Config(server, ca, token), client.Options{Scheme: shootScheme(), Mapper: shootMapper()})
	if err != nil {
		return nil, fmt.Errorf("make the client of the shoot at %q: %w", server, err)
	}
	return mapper, nil
}

// Config implements care.Shoots and cleanup.Shoots.
func (s *shootClients) Config(server string, ca []byte, token string) *rest.Config {
	config := &rest.Config{Host: server, BearerToken: token, Timeout: 10 * time.Second}
	config.TLSClientConfig.CAData = bytes.Join([][]byte{ca, s.ca}, []byte("\n"))
	if s.proxy != nil {
		config.Proxy = http.ProxyURL(s.proxy)
	}
	return config
}

// ringOnChange rings the bell for the namespace of every object that flows wait for, for that namespace itself, and for
// the name of a BackupEntry.
func ringOnChange(ctx context.Context, seed cluster.Cluster, mgr manager.Manager, bell *scope.Bell) error {
	var errs []error
	for _, object := range rung() {
		errs = append(errs,
			ringFor(ctx, seed.GetCache(), object, func(o client.Object, _ bool) { bell.Ring(o.GetNamespace()) }))
	}
	errs = append(errs, ringFor(ctx, seed.GetCache(), &corev1.Namespace{}, func(o client.Object, _ bool) {
		bell.Ring(o.GetName())
	}))
	errs = append(errs, ringFor(ctx, mgr.GetCache(), &gardencorev1beta1.BackupEntry{}, func(o client.Object, gone bool) {
		entry, is := o.(*gardencorev1beta1.BackupEntry)
		if is && (gone || backupentry.HasNews(entry, entry.Status.LastOperation, entry.Status.LastError)) {
			bell.Ring(entry.Name)
		}
	}))
	return errors.Join(errs...)
}

// rung are the kinds in a seed whose changes ring the bell.
func rung() []client.Object {
	kinds := []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &corev1.Pod{}, &machinev1alpha1.Machine{}}
	for _, kind := range extensionsv1alpha1.Kinds() {
		if kind.Namespaced && kind.Migrates {
			kinds = append(kinds, kind.New())
		}
	}
	return kinds
}

type informers interface {
	GetInformer(ctx context.Context, obj client.Object, opts ...informerOption) (informer, error)
}

func ringFor(ctx context.Context, from informers, object client.Object, ring func(_ client.Object, gone bool)) error {
	informer, err := from.GetInformer(ctx, object)
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { ringObject(o, false, ring) },
		UpdateFunc: func(_, o any) { ringObject(o, false, ring) },
		DeleteFunc: func(o any) { ringObject(o, true, ring) },
	})
	return err
}

func ringObject(o any, gone bool, ring func(client.Object, bool)) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	if object, ok := o.(client.Object); ok {
		ring(object, gone)
	}
}

// shootEvents records events on shoots in the garden.
type shootEvents struct{ recorder eventRecorder }

func newEvents(mgr manager.Manager, component string) scope.Events {
	return shootEvents{mgr.GetEventRecorder(component)}
}

func (e shootEvents) Event(shoot *gardencorev1beta1.Shoot, eventType, reason, message string) {
	e.recorder.Eventf(shoot, nil, eventType, reason, reason, "%s", shorten(message))
}

// maxNote is how long the API server lets the note of an event be.
const maxNote = 1024

func shorten(note string) string {
	const more = " …"
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-len(more)], "") + more
}
