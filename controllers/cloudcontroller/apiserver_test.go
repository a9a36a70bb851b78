package cloudcontroller

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const technicalID = "shoot--p--alpha"

// bench is a shoot's API server without controllers but ours, and a cloud.
type bench struct {
	client.Client
	t      *testing.T
	cloud  *cloudtest.Cloud
	lapsed atomic.Bool
}

// Own implements Owner.
func (b *bench) Own(ctx context.Context, call func(context.Context, int64) error) error {
	if b.lapsed.Load() {
		return validity.ErrLapsed
	}
	return call(cloud.WithScope(ctx, cloud.Scope{Shoot: technicalID, Epoch: 3}), 3)
}

// TestOnARealAPIServer has one API server for all: each test runs controllers of its own on it, and leaves it empty.
func TestOnARealAPIServer(t *testing.T) {
	log.SetLogger(logr.Discard())
	config := apiservertest.Start(t,
		apiservertest.Options{Flags: []string{"--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection"}})
	for name, test := range map[string]func(*testing.T, *bench){
		"load balancers": loadBalancers, "nobody else may call": nobodyElseMayCall, "volumes": volumes,
		"volumes that wait for no node": volumesThatWaitForNoNode, "a claim that goes too soon": aClaimThatGoesTooSoon,
		"nodes go with their machines": nodesGoWithTheirMachines, "what is retained": whatIsRetained,
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t, config)) })
	}
}

func start(t *testing.T, config *rest.Config) *bench {
	t.Helper()
	b := &bench{t: t, cloud: cloudtest.New(t)}
	var err error
	b.Client, err = client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	b.must(err)
	t.Cleanup(b.empty) // when the controllers have ended
	mgr, err := manager.New(config, manager.Options{Metrics: metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0", Logger: logr.Discard()})
	b.must(err)
	b.must(AddToManager(mgr, config, Account{Cloud: b.cloud.Client(t), Owner: b, Shoot: technicalID}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with: %v", err)
		}
	})
	return b
}

// empty removes what a test has made. Finalizers are taken off, for the controllers of the test have ended.
func (b *bench) empty() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), time.Minute)
	defer cancel()
	for _, list := range []client.ObjectList{
		&corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{}, &storagev1.VolumeAttachmentList{},
		&corev1.PersistentVolumeList{},
		&storagev1.StorageClassList{}, &corev1.NodeList{}, &corev1.EventList{},
	} {
		b.must(b.List(ctx, list))
		b.must(meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if object.GetName() == "kubernetes" { // the API server's own Service
				return nil
			}
			if len(object.GetFinalizers()) > 0 {
				before := object.DeepCopyObject().(client.Object)
				object.SetFinalizers(nil)
				if err := b.Patch(ctx, object, client.MergeFrom(before)); err != nil {
					return client.IgnoreNotFound(err)
				}
			}
			return client.IgnoreNotFound(b.Delete(ctx, object))
		}))
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) until(what string, condition func(context.Context) bool) {
	b.t.Helper()
	err := wait.PollUntilContextTimeout(b.t.Context(), 50*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			return condition(ctx), nil
		})
	if err != nil {
		b.t.Fatalf("%s: %v; the cloud has %v", what, err, b.cloud.IDs())
	}
}

func (b *bench) gone(object client.Object) func(context.Context) bool {
	return func(ctx context.Context) bool {
		return apierrors.IsNotFound(b.Get(ctx, client.ObjectKeyFromObject(object), object))
	}
}

// written are the verbs and kinds of the ledger, all of which must carry scope and epoch.
func (b *bench) written() []string {
	b.t.Helper()
	var calls []string
	for _, call := range b.cloud.Ledger() {
		if call.Shoot != technicalID || call.Epoch != 3 {
			b.t.Errorf("%+v is not scoped", call)
		}
		calls = append(calls, call.Verb+" "+call.Kind)
	}
	return calls
}

// loadBalancers takes a Service through its life, with an answer lost and a cloud that refuses on the way.
func loadBalancers(t *testing.T, b *bench) {
	var lost atomic.Bool
	b.cloud.LoseAnswers(func(verb, _ string) bool { return verb == "create" && lost.CompareAndSwap(false, true) })
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	service.Spec.Type, service.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Name: "b", Port: 443},
		{Name: "a", Port: 80}}
	b.must(b.Create(t.Context(), service))
	key := client.ObjectKeyFromObject(service)
	b.until("an address", func(ctx context.Context) bool {
		return b.Get(ctx, key, service) == nil && len(service.Status.LoadBalancer.Ingress) == 1
	})
	if !lost.Load() || len(b.cloud.IDs()) != 1 {
		t.Errorf("after a lost answer the cloud has %v", b.cloud.IDs())
	}
	if diff := cmp.Diff([]string{finalizerBalancer}, service.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	found, err := b.cloud.Client(t).LoadBalancers().List(t.Context(),
		cloud.Filter{Tags: map[string]string{"transplant.dev/shoot": technicalID}})
	b.must(err)
	if len(found) != 1 || !slices.Equal(found[0].Ports, []int32{80, 443}) ||
		found[0].Tags["transplant.dev/for"] != "Service default/web" {
		t.Errorf("the cloud has %+v", found)
	}

	before := service.DeepCopy()
	service.Spec.Ports = service.Spec.Ports[:1]
	b.must(b.Patch(t.Context(), service, client.MergeFrom(before)))
	b.until("another port", func(ctx context.Context) bool {
		found, err = b.cloud.Client(t).LoadBalancers().List(ctx, cloud.Filter{})
		return err == nil && len(found) == 1 && slices.Equal(found[0].Ports, []int32{443})
	})

	b.cloud.Refuse(func(verb, _ string) *cloud.Error {
		if verb != "delete" {
			return nil
		}
		return &cloud.Error{Code: cloud.CodeInternal, Reason: "InternalError", Message: "out of order"}
	})
	b.must(b.Delete(t.Context(), service))
	b.until("an event reports the refusal", func(ctx context.Context) bool {
		events := &corev1.EventList{}
		b.must(b.List(ctx, events, client.InNamespace("default")))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "SyncLoadBalancerFailed" && strings.Contains(e.Message, "out of order")
		})
	})
	b.must(b.Get(t.Context(), key, service)) // its finalizer keeps it
	b.cloud.Refuse(nil)
	b.until("the service is gone", b.gone(service))
	if left := b.cloud.IDs(); len(left) > 0 {
		t.Errorf("the cloud still has %v", left)
	}
	if diff := cmp.Diff([]string{"create load-balancers", "update load-balancers", "delete load-balancers"},
		b.written()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// nobodyElseMayCall: without a valid ownership nothing is called, and nothing fails.
func nobodyElseMayCall(t *testing.T, b *bench) {
	b.lapsed.Store(true)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	service.Spec.Type, service.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 80}}
	other := service.DeepCopy()
	other.Name, other.Spec.LoadBalancerClass = "other", ptr.To("other.test/class")
	b.must(b.Create(t.Context(), other))
	b.must(b.Create(t.Context(), service))
	b.until("the finalizer comes first", func(ctx context.Context) bool {
		return b.Get(ctx, client.ObjectKeyFromObject(service), service) == nil && len(service.Finalizers) == 1
	})
	if made := b.cloud.IDs(); len(made) > 0 {
		t.Errorf("the cloud was asked to make %v", made)
	}
	b.lapsed.Store(false)
	b.until("an address", func(ctx context.Context) bool {
		return b.Get(ctx, client.ObjectKeyFromObject(service), service) == nil &&
			len(service.Status.LoadBalancer.Ingress) == 1
	})
	b.must(b.Get(t.Context(), client.ObjectKeyFromObject(other), other))
	if len(other.Finalizers) > 0 || len(b.cloud.IDs()) != 1 {
		t.Errorf("a service of another class was served: %v, %v", other.Finalizers, b.cloud.IDs())
	}
}

// volumes takes a claim through its life. What Kubernetes' own controllers do is done here.
func volumes(t *testing.T, b *bench) {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data",
			Annotations: map[string]string{annotationProvisioner: cloud.CSIDriver}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To("default"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		},
	}
	for _, object := range []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Provisioner: cloud.CSIDriver,
			VolumeBindingMode: &wait, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete)},
		nodeOf("node", "transplant:///m-1", corev1.ConditionTrue),
		claim,
	} {
		b.must(b.Create(t.Context(), object))
	}
	key := client.ObjectKeyFromObject(claim)
	// A node that is gone is given back, which shows too that nothing is made before there is one.
	b.annotate(claim, annotationSelectedNode, "gone")
	b.until("the node is given back", func(ctx context.Context) bool {
		return b.Get(ctx, key, claim) == nil && claim.Annotations[annotationSelectedNode] == ""
	})
	b.annotate(claim, annotationSelectedNode, "node")
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID)}}
	b.until("a volume", func(ctx context.Context) bool {
		return b.Get(ctx, client.ObjectKeyFromObject(volume), volume) == nil
	})
	made, err := b.cloud.Client(t).Volumes().List(t.Context(),
		cloud.Filter{Tags: map[string]string{"transplant.dev/shoot": technicalID}})
	b.must(err)
	if len(made) != 1 || made[0].Zone != "here-1" || made[0].Size != "1Gi" || made[0].ID != volume.Spec.CSI.VolumeHandle ||
		volume.Spec.ClaimRef.UID != claim.UID {
		t.Fatalf("the cloud has %+v for %+v", made, volume.Spec)
	}
	b.until("nothing but its volume keeps the claim", func(ctx context.Context) bool {
		return b.Get(ctx, key, claim) == nil && len(claim.Finalizers) == 0
	})

	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-1"},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: cloud.CSIDriver, NodeName: "node",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume.Name},
		}}
	b.must(b.Create(t.Context(), attachment))
	b.until("the volume is attached", func(ctx context.Context) bool {
		return b.Get(ctx, client.ObjectKeyFromObject(attachment), attachment) == nil && attachment.Status.Attached &&
			b.attached(volume) == "m-1"
	})
	// It is detached all the same when neither its node nor the note of the machine is there any more.
	b.must(b.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}))
	noted := attachment.DeepCopy()
	attachment.Status = storagev1.VolumeAttachmentStatus{}
	b.must(b.Status().Patch(t.Context(), attachment, client.MergeFrom(noted)))
	b.must(b.Delete(t.Context(), attachment))
	b.until("the attachment is gone", b.gone(attachment))
	if machine := b.attached(volume); machine != "" {
		t.Errorf("the volume is still attached to %q", machine)
	}

	// Nobody claims it: it goes, and with it its PersistentVolume.
	b.must(b.Delete(t.Context(), claim))
	before := volume.DeepCopy()
	volume.Status.Phase = corev1.VolumeReleased
	b.must(b.Status().Patch(t.Context(), volume, client.MergeFrom(before)))
	b.until("the volume is gone", b.gone(volume))
	if left := b.cloud.IDs(); len(left) > 0 {
		t.Errorf("the cloud still has %v", left)
	}
	if diff := cmp.Diff([]string{"create volumes", "update volumes", "update volumes", "delete volumes"},
		b.written()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// volumesThatWaitForNoNode are where their class allows it, or where the first node is: never nowhere.
func volumesThatWaitForNoNode(t *testing.T, b *bench) {
	claimOf := func(class string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: class,
				Annotations: map[string]string{annotationProvisioner: cloud.CSIDriver}},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
			},
		}
	}
	zones := []corev1.TopologySelectorTerm{
		{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone,
			Values: []string{"here-2", "here-1"}}}}}
	for _, object := range []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "anywhere"}, Provisioner: cloud.CSIDriver},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "zoned"}, Provisioner: cloud.CSIDriver,
			AllowedTopologies: zones},
		claimOf("anywhere"), claimOf("zoned"),
	} {
		b.must(b.Create(t.Context(), object))
	}
	made := func(ctx context.Context) []string {
		found, err := b.cloud.Client(t).Volumes().List(ctx,
			cloud.Filter{Tags: map[string]string{"transplant.dev/shoot": technicalID}})
		b.must(err)
		var zones []string
		for _, v := range found {
			zones = append(zones, v.Zone)
		}
		slices.Sort(zones)
		return zones
	}
	b.until("the zoned one is made, and nothing without a zone", func(ctx context.Context) bool {
		return slices.Equal(made(ctx), []string{"here-2"})
	})
	b.must(b.Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node",
			Labels: map[string]string{corev1.LabelTopologyZone: "here-1"}}}))
	b.until("the other is where the node is", func(ctx context.Context) bool {
		return slices.Equal(made(ctx), []string{"here-1", "here-2"})
	})
}

// aClaimThatGoesTooSoon: a volume of which nobody has heard yet, as the answer was lost, goes with the claim that it
// was made for; the claim stays as long.
func aClaimThatGoesTooSoon(t *testing.T, b *bench) {
	var made atomic.Bool
	b.cloud.LoseAnswers(func(verb, _ string) bool { return verb == "create" && made.CompareAndSwap(false, true) })
	var refused atomic.Int32
	b.cloud.Refuse(func(verb, _ string) *cloud.Error {
		if verb != "list" || !made.Load() {
			return nil
		}
		refused.Add(1)
		return &cloud.Error{Code: cloud.CodeInternal, Reason: "InternalError", Message: "out of order"}
	})
	class := "anywhere"
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data",
			Annotations: map[string]string{annotationProvisioner: cloud.CSIDriver}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
		},
	}
	for _, object := range []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: cloud.CSIDriver},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node",
			Labels: map[string]string{corev1.LabelTopologyZone: "here-1"}}},
		claim,
	} {
		b.must(b.Create(t.Context(), object))
	}
	b.until("a volume", func(context.Context) bool { return made.Load() && len(b.cloud.IDs("volumes")) == 1 })
	b.must(b.Delete(t.Context(), claim))
	before := refused.Load()
	// the first may have read the claim before
	b.until("somebody who has seen the deletion looks for the volume", func(context.Context) bool {
		return refused.Load() >= before+2
	})
	// its finalizer keeps it
	b.must(b.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	if diff := cmp.Diff([]string{"cloud.transplant.dev/provisioning"}, claim.Finalizers); diff != "" ||
		claim.DeletionTimestamp == nil {
		t.Errorf("deleted at %s, finalizers (-want +got):\n%s", claim.DeletionTimestamp, diff)
	}
	b.cloud.Refuse(nil)
	b.until("the claim is gone", b.gone(claim))
	if left := b.cloud.IDs(); len(left) > 0 {
		t.Errorf("the cloud still has %v", left)
	}
	if diff := cmp.Diff([]string{"create volumes", "delete volumes"}, b.written()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// nodeOf is a node that is a machine, and says whether it is ready.
func nodeOf(name, providerID string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "here-1"}},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

// nodesGoWithTheirMachines: a node whose machine has ended goes, but not while it is ready, nor while the cloud does
// not answer, and no other node goes.
func nodesGoWithTheirMachines(t *testing.T, b *bench) {
	machines := b.cloud.Client(t).Machines()
	alive, err := machines.Create(t.Context(), &cloud.Machine{Name: "alive", Type: "small"})
	b.must(err)
	var refused atomic.Int32
	b.cloud.Refuse(func(verb, _ string) *cloud.Error {
		if verb != "get" {
			return nil
		}
		refused.Add(1)
		return &cloud.Error{Code: cloud.CodeInternal, Reason: "InternalError", Message: "out of order"}
	})
	late := nodeOf("late", "transplant:///mac-9999", corev1.ConditionFalse)
	b.must(b.Create(t.Context(), late))
	b.until("the cloud is asked twice", func(context.Context) bool { return refused.Load() >= 2 })
	b.must(b.Get(t.Context(), client.ObjectKeyFromObject(late), late)) // nobody knows that its machine has ended

	unready, ready := nodeOf("unready", "transplant:///"+alive.ID, corev1.ConditionUnknown),
		nodeOf("ready", "transplant:///mac-9998", corev1.ConditionTrue)
	foreign := nodeOf("foreign", "other:///mac-9997", corev1.ConditionUnknown)
	for _, node := range []*corev1.Node{unready, ready, foreign} {
		b.must(b.Create(t.Context(), node))
	}
	b.cloud.Refuse(nil)
	b.until("the node of an ended machine is gone", b.gone(late))
	for _, node := range []*corev1.Node{unready, ready, foreign} {
		b.must(b.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	}

	b.cloud.Terminate(alive.ID)
	b.until("the node is gone after its machine", b.gone(unready))
	before := ready.DeepCopy()
	ready.Status.Conditions[0].Status = corev1.ConditionUnknown
	b.must(b.Status().Patch(t.Context(), ready, client.MergeFrom(before)))
	b.until("the node is gone that is silent now", b.gone(ready))
	b.must(b.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	b.until("an event reports the deletion", func(ctx context.Context) bool {
		events := &corev1.EventList{}
		b.must(b.List(ctx, events))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "DeletingNode" && e.InvolvedObject.Name == "late"
		})
	})
}

// whatIsRetained stays in the cloud when its PersistentVolume goes.
func whatIsRetained(t *testing.T, b *bench) {
	made, err := b.cloud.Client(t).Volumes().Create(t.Context(), &cloud.Volume{Size: "1Gi"})
	b.must(err)
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{finalizerProvisioner},
			Annotations: map[string]string{annotationProvisionedBy: cloud.CSIDriver}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{"storage": resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: cloud.CSIDriver, VolumeHandle: made.ID}},
		},
	}
	b.must(b.Create(t.Context(), volume))
	b.must(b.Delete(t.Context(), volume))
	b.until("the PersistentVolume is gone", b.gone(volume))
	if diff := cmp.Diff([]string{"volumes/" + made.ID}, b.cloud.IDs()); diff != "" {
		t.Errorf("the cloud (-want +got):\n%s", diff)
	}
}

func (b *bench) annotate(claim *corev1.PersistentVolumeClaim, key, value string) {
	b.t.Helper()
	before := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, key, value)
	b.must(b.Patch(b.t.Context(), claim, client.MergeFrom(before)))
}

func (b *bench) attached(volume *corev1.PersistentVolume) string {
	b.t.Helper()
	found, err := b.cloud.Client(b.t).Volumes().Get(b.t.Context(), volume.Spec.CSI.VolumeHandle)
	b.must(err)
	return found.MachineID
}
