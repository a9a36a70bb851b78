package controlplane

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// A shoot that was to be woken and is deleted before it is sleeps all the same: nothing in it is released until it is
// woken.
func TestWhoSleepsIsWokenToBeDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec, status bool
		runs         int32 // replicas of etcd, where a waking, or a falling asleep, has stopped half-way
		want         map[string]int32
	}{
		"asleep": {true, true, 0, map[string]int32{"etcd-main": 1, "kube-apiserver": 1,
			"machine-controller": 1}},
		"sleep wanted": {true, false, 0, map[string]int32{"etcd-main": 1, "kube-apiserver": 1,
			"machine-controller": 1}},
		"wake wanted": {false, true, 0, map[string]int32{"etcd-main": 1, "kube-apiserver": 1,
			"machine-controller": 1}},
		"half awake": {false, true, 1, map[string]int32{"etcd-main": 1, "kube-apiserver": 1,
			"machine-controller": 1}},
		"half asleep": {true, false, 1, map[string]int32{"etcd-main": 1, "kube-apiserver": 1,
			"machine-controller": 1}},
		"awake: nobody touches": {false, false, 0, map[string]int32{"etcd-main": 0, "kube-apiserver": 0,
			"machine-controller": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			meta := func(name string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}
			}
			etcd := &appsv1.StatefulSet{ObjectMeta: meta("etcd-main"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(c.runs)}}
			etcd.Annotations = map[string]string{"transplant.dev/epoch": "4"}
			etcd.Status.ReadyReplicas = 1
			objects := []client.Object{etcd, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}}
			for _, name := range []string{"kube-apiserver", "machine-controller"} {
				d := &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}}
				d.Status.UpdatedReplicas, d.Status.ReadyReplicas = 1, 1
				objects = append(objects, d)
			}
			o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeDelete, interceptor.Funcs{}, objects...))
			seed := o.Seed
			o.Shoot.Status.IsHibernated = c.status
			o.Shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(c.spec)}
			got := map[string]int32{}
			if err := o.wakeResourceManager(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := seed.Get(t.Context(), client.ObjectKeyFromObject(etcd), etcd); err != nil {
				t.Fatal(err)
			}
			if woken := *etcd.Spec.Replicas == 1; woken != (c.want["etcd-main"] == 1) {
				t.Errorf("etcd is woken for the resource manager: %t", woken)
			}
			if err := o.wakeAndDeleteWorker(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				if err := seed.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
				switch workload := object.(type) {
				case *appsv1.StatefulSet:
					got[workload.Name] = *workload.Spec.Replicas
				case *appsv1.Deployment:
					got[workload.Name] = *workload.Spec.Replicas
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("replicas (-want +got):\n%s", diff)
			}
		})
	}
}

// A shoot that is hibernated releases its name while etcd still runs: while etcd ends, nothing can answer an extension
// who owns the shoot.
func TestTheNameGoesBeforeEtcd(t *testing.T) {
	t.Parallel()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}
	}
	etcd := &appsv1.StatefulSet{ObjectMeta: meta("etcd-main"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1)}}
	record := &extensionsv1alpha1.DNSRecord{ObjectMeta: meta("alpha-internal")}
	deleted := false
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if _, is := object.(*extensionsv1alpha1.DNSRecord); is {
				deleted = true
				if err := c.Get(ctx, client.ObjectKeyFromObject(etcd), etcd); err != nil || *etcd.Spec.Replicas != 1 {
					t.Errorf("the name goes when etcd has %d replicas (%v)", *etcd.Spec.Replicas, err)
				}
			}
			return c.Delete(ctx, object, options...)
		},
	}, etcd, record, &appsv1.Deployment{ObjectMeta: meta("kube-apiserver"),
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := o.Hibernate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := o.Seed.Get(t.Context(), client.ObjectKeyFromObject(etcd), etcd); err != nil || *etcd.Spec.Replicas != 0 ||
		!deleted {
		t.Errorf("etcd has %d replicas (%v), the name has gone: %t", *etcd.Spec.Replicas, err, deleted)
	}
}
