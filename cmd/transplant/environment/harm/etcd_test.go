package harm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/observe"
)

// withEtcd is a seed that runs the etcd of alpha on a disk with data, or only something that is not asked for.
func withEtcd(t *testing.T, name, disk string, failures interceptor.Funcs) (*rickety, client.Client) {
	t.Helper()
	address := "127.1.0." + map[string]string{"a": "1", "b": "2"}[name]
	s := &sleepers{t: t}
	s.start()
	one := s.live[0]
	one.Args, one.Env = []string{"etcd"}, map[string]string{"POD_IP": address}
	builder := fake.NewClientBuilder().WithScheme(environment.Scheme()).WithInterceptorFuncs(failures)
	if disk != "" {
		if err := os.WriteFile(filepath.Join(disk, "data"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		builder.WithObjects(
			&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "etcd-main-0", Namespace: "shoot--p--alpha", UID: "etcd",
					Labels: map[string]string{"role": "etcd-main"}},
				Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
				}}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
			},
			&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "shoot--p--alpha"},
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "v"},
			},
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: disk}},
			}},
		)
	}
	return &rickety{name: name, runs: []process.Program{one}}, builder.Build()
}

// owned is a garden in which alpha is on seed b.
func owned() client.Client {
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: "garden-p"}}
	shoot.Status.SeedName = ptr.To("b")
	return fake.NewClientBuilder().WithScheme(environment.Scheme()).WithObjects(shoot).Build()
}

// A disk that was wiped is wiped, also when its pod could not be taken away: the heal takes it away, and its processes,
// which were stopped, go with it.
func TestAWipeWhosePodCannotBeTakenAway(t *testing.T) {
	t.Parallel()
	midway, deletions := errors.New("midway"), 0
	disk := t.TempDir()
	seed, asked := withEtcd(t, "b", disk, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if deletions++; deletions == 1 {
				return midway
			}
			return c.Delete(ctx, o, options...)
		},
	})
	i := New(&observe.Observer{Landscape: grounds{seeds: []*rickety{seed}},
		SeedClients: map[string]client.Client{"b": asked}, Garden: owned()})
	injection, err := i.WipeEtcd(t.Context(), "alpha")
	if !errors.Is(err, midway) || injection.Heal == nil || injection.Hits() != 1 {
		t.Fatalf("the injection is %+v, %v", injection, err)
	}
	if left, _ := os.ReadDir(disk); len(left) > 0 || !seed.runs[0].Alive() {
		t.Errorf("on the disk is %v, etcd lives: %t", left, seed.runs[0].Alive())
	}
	if err := injection.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	await(t, "the process is gone", func() bool { return !seed.runs[0].Alive() })
	if pods := (&corev1.PodList{}); asked.List(t.Context(), pods) != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods are left", len(pods.Items))
	}
}

// A seed that cannot be asked does not keep the etcd of the shoot's own seed from being wiped. One that runs nothing is
// not asked at all.
func TestAWipeBesideASeedThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	deaf := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList,
		...client.ListOption) error {
		return refused
	}}
	for name, c := range map[string]struct {
		deaf  string // which of the seeds
		lost  bool   // it runs nothing, besides
		wrong string
	}{
		"the other does not answer":    {deaf: "a"},
		"the other is lost":            {deaf: "a", lost: true},
		"the shoot's own is not asked": {deaf: "b", wrong: `on seed "b": connection refused`},
		"the shoot's own is lost":      {deaf: "b", lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, asked := []*rickety{}, map[string]client.Client{}
			for _, name := range []string{"a", "b"} {
				failures, disk := interceptor.Funcs{}, t.TempDir()
				if name == c.deaf {
					failures, disk = deaf, ""
				}
				seed, client := withEtcd(t, name, disk, failures)
				if name == c.deaf && c.lost {
					seed.runs = nil
				}
				all, asked[name] = append(all, seed), client
			}
			i := New(&observe.Observer{Landscape: grounds{seeds: all}, SeedClients: asked, Garden: owned()})
			injection, err := i.WipeEtcd(t.Context(), "alpha")
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("wiped: %v, want %q", err, c.wrong)
			}
			if injection.Heal == nil || injection.Hits() != 1 {
				t.Errorf("the injection is %+v", injection)
			}
		})
	}
}
