package actors

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// What rings the bell is read from its cache. Of another kind the cache has nothing yet, and a read would block.
func TestWatchedReader_KindsThatRingTheBell_AreReadFromTheCache(t *testing.T) {
	t.Parallel()
	in := func(where string) client.Client {
		meta := metav1.ObjectMeta{Namespace: "n", Name: where}
		return fake.NewClientBuilder().WithScheme(seedScheme()).WithObjects(&appsv1.Deployment{ObjectMeta: meta},
			&corev1.Pod{ObjectMeta: meta}, &extensionsv1alpha1.Worker{ObjectMeta: meta}, &corev1.Secret{ObjectMeta: meta},
			&extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: where}}).Build()
	}
	r, err := newWatchedReader(in("cache"), in("live"), seedScheme())
	if err != nil {
		t.Fatal(err)
	}
	for want, object := range map[string][]client.Object{
		"cache": {&appsv1.Deployment{}, &extensionsv1alpha1.Worker{}},
		"live":  {&corev1.Secret{}, &extensionsv1alpha1.BackupEntry{}},
	} {
		for _, o := range object {
			key := client.ObjectKey{Namespace: "n", Name: want}
			if _, cluster := o.(*extensionsv1alpha1.BackupEntry); cluster {
				key.Namespace = ""
			}
			if err := r.Get(t.Context(), key, o); err != nil {
				t.Errorf("%T is not read from the %s: %v", o, want, err)
			}
		}
	}
	pods, secrets := &corev1.PodList{}, &corev1.SecretList{}
	for _, list := range []client.ObjectList{pods, secrets} {
		if err := r.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	if pods.Items[0].Name != "cache" || secrets.Items[0].Name != "live" {
		t.Errorf("pods are of the %s, secrets of the %s", pods.Items[0].Name, secrets.Items[0].Name)
	}
}
