package podworker

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/address"
)

// A pod that goes while its volumes are renewed leaves nothing: the renewal would make its folder again.
func TestAPodThatGoesWhileItsVolumesAreRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1"}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "unknown"}},
			Volumes: []corev1.Volume{{Name: "v",
				VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}}},
		}}
		c := fake.NewClientset(pod, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"},
			Data: map[string][]byte{"key": []byte("value")}})
		answer, slow := make(chan struct{}), false
		c.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if slow {
				<-answer
			}
			return false, nil, nil
		})
		w, ended := runWorker(t, c, pod)
		synctest.Wait()
		file := filepath.Join(w.sandbox.folder, "volumes", "v", "key")
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("the pod has no volume: %v", err)
		}
		slow = true
		w.refresh()
		synctest.Wait()
		w.vanish(pod)
		synctest.Wait()
		close(answer)
		<-ended
		synctest.Wait()
		if _, err := os.Stat(w.sandbox.folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder of a pod that is gone: %v", err)
		}
	})
}

// runWorker runs a pod on a node that knows no image. The channel is closed when nothing is to be left of it.
func runWorker(t *testing.T, c *fake.Clientset, pod *corev1.Pod) (*Worker, <-chan struct{}) {
	t.Helper()
	root := t.TempDir()
	addresses, err := address.Open(netip.MustParsePrefix("127.1.0.0/24"), filepath.Join(root, "addresses.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(&Node{
		RootDir: root, Client: c, Clock: clock.RealClock{}, Log: testr.New(t), Recorder: &record.FakeRecorder{},
		Addresses: addresses,
	}, pod)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	go w.run(ctx)
	return w, w.ended
}
