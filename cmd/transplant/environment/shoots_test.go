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
	failed := &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Error", Progress: 10}
	ill := shoot("ill", "a", "a", failed)
	ill.Status.LastErrors = []gardencorev1beta1.LastError{{Description: "no\nquota", Codes: []gardencorev1beta1.ErrorCode{
		"ERR_INFRA_QUOTA_EXCEEDED", "ERR_RETRYABLE_INFRA_DEPENDENCIES"}}}
	doing := &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Processing", Progress: 43}
	got := shown([]gardencorev1beta1.Shoot{
		shoot("new", "", "", nil), shoot("bound", "a", "", nil), shoot("well", "a", "a", done),
		shoot("moves", "b", "a", doing), shoot("to-move", "b", "a", done),
		ill,
	})
	want := []cli.Shoot{
		{Name: "garden-p/new", Seed: "-", LastOperation: "-"}, {Name: "garden-p/bound", Seed: "bound to a",
			LastOperation: "-"},
		{Name: "garden-p/well", Seed: "a", LastOperation: "Create Succeeded", Settled: true},
		{Name: "garden-p/moves", Seed: "a, bound to b", LastOperation: "Migrate Processing 43%"},
		{Name: "garden-p/to-move", Seed: "a, bound to b", LastOperation: "Create Succeeded"},
		{Name: "garden-p/ill", Seed: "a", LastOperation: "Reconcile Error",
			LastErrors: []string{"ERR_INFRA_QUOTA_EXCEEDED ERR_RETRYABLE_INFRA_DEPENDENCIES no quota"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A garden is asked for its shoots, and for the claims to all of them at once. A claim without an epoch hides no shoot.
func TestShootsOfAGarden(t *testing.T) {
	t.Parallel()
	garden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, is := map[string]string{
			"/apis/core.gardener.cloud/v1beta1/shoots": `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"ShootList",` +
				`"items":[{"metadata":{"namespace":"garden-p","name":"alpha"},"spec":{"seedName":"a"},"status":{"seedName":"a"}}]}`,
			"/apis/coordination.k8s.io/v1/leases": `{"apiVersion":"coordination.k8s.io/v1","kind":"LeaseList","items":[` +
				`{"metadata":{"namespace":"garden-p","name":"alpha"}},` +
				`{"metadata":{"namespace":"garden-p","name":"owner.alpha","annotations":{"transplant.dev/epoch":"3"}}},` +
				`{"metadata":{"namespace":"garden-q","name":"owner.alpha","annotations":{"transplant.dev/epoch":"4"}}},` +
				`{"metadata":{"namespace":"garden-p","name":"owner.beta","annotations":{"transplant.dev/epoch":"none"}}}]}`,
		}[r.URL.Path]
		if !is {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
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
	if diff := cmp.Diff([]cli.Shoot{{Name: "garden-p/alpha", Seed: "a", Epoch: 3, LastOperation: "-"}}, got); diff != "" ||
		err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
