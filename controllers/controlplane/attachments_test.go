package controlplane

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// ahead is a clock that is so much ahead of the one that objects are stamped with.
type ahead struct {
	clock.Clock
	by time.Duration
}

func (a ahead) Since(t time.Time) time.Duration { return a.Clock.Since(t) + a.by }

func TestVolumeAttachmentsGoBeforeTheShootSleeps(t *testing.T) {
	t.Parallel()
	attachment := func(name string, finalizers ...string) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	}
	for name, c := range map[string]struct {
		workers, running int
		later            time.Duration
		patience         time.Duration
		want             string // of the error
		left             []string
	}{
		"one stays, one goes": {workers: 1, running: 1, patience: 3 * time.Second,
			want: `1 are left, among them "stays"`,
			left: []string{"stays"}},
		"one stays too long": {workers: 1, running: 1, later: 5*time.Minute + 10*time.Second,
			patience: time.Minute},
		"no API server any more":  {workers: 1, patience: time.Minute, left: []string{"free", "stays"}},
		"a shoot without workers": {running: 1, patience: time.Minute, left: []string{"free", "stays"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			meta := func(name string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}
			}
			server := &appsv1.Deployment{ObjectMeta: meta("kube-apiserver")}
			server.Status.ReadyReplicas = int32(c.running)
			o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{}, server,
				&corev1.Secret{ObjectMeta: meta("ca")}, &corev1.Secret{ObjectMeta: meta("static-token")}))
			o.Shoot.Spec.Provider.Workers = make([]gardencorev1beta1.Worker, c.workers)
			shoot := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(attachment("free"),
				attachment("stays", "driver.test/holds")).Build()
			o.Shoots, o.Clock = controlplanetest.OneShoot{Client: shoot}, ahead{clock.RealClock{}, c.later}
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			defer cancel()
			err := o.ReleaseVolumeAttachments(ctx)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			ctx = t.Context()
			list := &storagev1.VolumeAttachmentList{}
			if err := shoot.List(ctx, list); err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, a := range list.Items {
				left = append(left, a.Name)
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}
