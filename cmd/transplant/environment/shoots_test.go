package environment

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/cli"
)

func TestHowShootsAreShown(t *testing.T) {
	t.Parallel()
	shoot := func(name, spec, status string, last *gardencorev1beta1.LastOperation) gardencorev1beta1.Shoot {
		s := gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
			Status: gardencorev1beta1.ShootStatus{LastOperation: last}}
		if spec != "" {
			s.Spec.SeedName = &spec
		}
		if status != "" {
			s.Status.SeedName = &status
		}
		return s
	}
	done := &gardencorev1beta1.LastOperation{Type: "Create", State: "Succeeded", Progress: 100}
	doing := &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Processing", Progress: 43}
	got := shown([]gardencorev1beta1.Shoot{
		shoot("new", "", "", nil), shoot("bound", "a", "", nil), shoot("well", "a", "a", done),
		shoot("moves", "b", "a", doing), shoot("to-move", "b", "a", done),
	})
	want := []cli.Shoot{
		{Name: "garden-p/new", Seed: "-", LastOperation: "-"}, {Name: "garden-p/bound", Seed: "bound to a",
			LastOperation: "-"},
		{Name: "garden-p/well", Seed: "a", LastOperation: "Create Succeeded", Settled: true},
		{Name: "garden-p/moves", Seed: "a, bound to b", LastOperation: "Migrate Processing 43%"},
		{Name: "garden-p/to-move", Seed: "a, bound to b", LastOperation: "Create Succeeded"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A garden is asked once, for its shoots alone.
func TestShootsOfAGarden(t *testing.T) {
	t.Parallel()
	garden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := "/apis/core.gardener.cloud/v1beta1/shoots"; r.URL.Path != want {
			t.Errorf("asked for %s, want %s", r.URL.Path, want)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"ShootList",`+
			`"items":[{"metadata":{"namespace":"garden-p","name":"alpha"},"spec":{"seedName":"a"},"status":{"seedName":"a"}}]}`)
	}))
	defer garden.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(
		"apiVersion: v1\nkind: Config\nclusters: [{name: x, cluster: {server: %q}}]\ncontexts: [{name: x, context: "+
			"{cluster: x}}]\ncurrent-context: x\n", garden.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ShootsOf(t.Context(), kubeconfig)
	if diff := cmp.Diff([]cli.Shoot{{Name: "garden-p/alpha", Seed: "a", LastOperation: "-"}}, got); diff != "" ||
		err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
