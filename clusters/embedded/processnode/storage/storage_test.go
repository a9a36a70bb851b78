package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/fakewatch"
)

const bound = time.Minute

func start(t *testing.T) (*Folders, *fake.Clientset, *record.FakeRecorder) {
	t.Helper()
	client, recorder := fake.NewClientset(), record.NewFakeRecorder(100)
	f := &Folders{Client: client, Root: filepath.Join(t.TempDir(), "volumes"), Node: "node", Recorder: recorder,
		Log: logr.Discard()}
	if err := f.CreateClass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.CreateClass(t.Context()); err != nil { // as a node that returns does
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	if err := f.Watch(core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	fakewatch.Start(ctx, client, factory)
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended; factory.Shutdown() })
	return f, client, recorder
}

func await(t *testing.T, what string, look func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, bound, true,
		func(ctx context.Context) (bool, error) {
			last = look(ctx)
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("wait for %s: %v", what, last)
	}
}

// claim as the volume binder has marked it for a provisioner.
func claim(name, provisioner string) *corev1.PersistentVolumeClaim {
	class := ClassName
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: "u-x",
			Annotations: map[string]string{annotationProvisioner: provisioner}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func TestAClaimGetsAFolderAndGivesItBack(t *testing.T) {
	t.Parallel()
	f, client, _ := start(t)
	if _, err := client.CoreV1().PersistentVolumeClaims("n").Create(t.Context(), claim("data", Provisioner),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	volumes := client.CoreV1().PersistentVolumes()
	var volume *corev1.PersistentVolume
	await(t, "the volume", func(ctx context.Context) (err error) {
		volume, err = volumes.Get(ctx, "pvc-u-x", metav1.GetOptions{})
		return err
	})
	path := volume.Spec.HostPath.Path
	if path != filepath.Join(f.Root, "n_data_u-x") || volume.Spec.StorageClassName != ClassName ||
		volume.Spec.ClaimRef.UID != "u-x" ||
		volume.Spec.Capacity.Storage().String() != "1Gi" ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		t.Errorf("the volume is %+v", volume.Spec)
	}
	if err := os.WriteFile(filepath.Join(path, "file"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(f.Root); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of all volumes is %v, %v", info.Mode(), err)
	}
	volume.Status.Phase = corev1.VolumeReleased
	if _, err := volumes.UpdateStatus(t.Context(), volume, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the volume", func(ctx context.Context) error {
		if _, err := volumes.Get(ctx, volume.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	f, client, recorder := start(t)
	foreign := t.TempDir()
	released := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "foreign", Annotations: map[string]string{annotationProvisionedBy: Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: foreign}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeReleased},
	}
	if _, err := client.CoreV1().PersistentVolumes().Create(t.Context(), released, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	block := claim("block", Provisioner)
	mode := corev1.PersistentVolumeBlock
	block.Spec.VolumeMode = &mode
	for _, c := range []*corev1.PersistentVolumeClaim{claim("other", "others.dev/disk"), block} {
		if _, err := client.CoreV1().PersistentVolumeClaims("n").Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	select { // the last claim has been looked at, and so have the others
	case event := <-recorder.Events:
		if !strings.Contains(event, "ProvisioningFailed volumes of mode Block are not available") {
			t.Errorf("got the event %q", event)
		}
	case <-time.After(bound):
		t.Fatal("no event")
	}
	list, err := client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("the volumes are %v, %v", list.Items, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a foreign folder: %v", err)
	}
	if entries, _ := os.ReadDir(f.Root); len(entries) > 0 {
		t.Errorf("there are folders for nobody: %v", entries)
	}
}
