package load_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/load"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func TestCount_NamespaceOfTheLoad_IsCountedWithoutWhatIsNotOfTheLoad(t *testing.T) {
	t.Parallel()
	w, _, _ := worldtest.Ready(t, 3)
	connect := func(ctx context.Context) (*rest.Config, error) { return w.ConnectShoot(ctx, "alpha", world.User) }
	config, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"kube-root-ca.crt", "w-1", "w-2"} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
			Data: map[string]string{"number": fmt.Sprint(i)}}
		if _, err := client.CoreV1().ConfigMaps(probe.Namespace).Create(t.Context(), object,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	j := journal()
	if err := load.Count(t.Context(), "alpha", connect, j); err != nil {
		t.Fatal(err)
	}
	if _, counted, _ := timeline.First[timeline.DataCounted](j.Events()); counted.Keys != 2 {
		t.Errorf("counted %+v, want 2 keys", counted)
	}
}
