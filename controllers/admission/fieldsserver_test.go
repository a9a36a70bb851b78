package admission

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// fieldsOnServer shows that the rules about fields reach clients: as refusals of each kind of object, with field and
// reason, and as warnings.
func fieldsOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	pool := func(change func(spec *gardencorev1beta1.ShootSpec, pool *gardencorev1beta1.Worker)) error {
		shoot := alphaOnServer("beta")
		change(&shoot.Spec, &shoot.Spec.Provider.Workers[0])
		return g.Create(ctx, shoot, client.DryRunAll)
	}
	for _, c := range []struct {
		err         error
		code        int32
		field, text string
	}{
		{pool(func(_ *gardencorev1beta1.ShootSpec, p *gardencorev1beta1.Worker) {
			p.Taints = []corev1.Taint{{Key: "node.gardener.cloud/critical-components-not-ready", Effect: "NoSchedule"}}
		}), http.StatusForbidden, "spec.provider.workers[0].taints[0].key",
			"every new node has this taint until its critical components are ready"},
		{pool(func(s *gardencorev1beta1.ShootSpec, p *gardencorev1beta1.Worker) {
			s.Provider.Workers = append(s.Provider.Workers, *p)
		}), http.StatusUnprocessableEntity, "spec.provider.workers[1].name", `Duplicate value: "pool"`},
		{pool(func(_ *gardencorev1beta1.ShootSpec, p *gardencorev1beta1.Worker) { p.Minimum = 3 }),
			http.StatusUnprocessableEntity, "spec.provider.workers[0].minimum",
			"must not be above maximum, which is 1"},
		{pool(func(_ *gardencorev1beta1.ShootSpec, p *gardencorev1beta1.Worker) { p.Machine.Type = "huge" }),
			http.StatusUnprocessableEntity, "spec.provider.workers[0].machine.type",
			`supported values: "medium", "large"`},
		{pool(func(_ *gardencorev1beta1.ShootSpec, p *gardencorev1beta1.Worker) { p.Zones = []string{"there-1"} }),
			http.StatusUnprocessableEntity, "spec.provider.workers[0].zones[0]",
			`supported values: "here-1", "here-2", "here-3"`},
		{pool(func(s *gardencorev1beta1.ShootSpec, _ *gardencorev1beta1.Worker) { s.Region = "there" }),
			http.StatusUnprocessableEntity, "spec.region", `supported values: "here"`},
		{g.merge(ctx, `{"spec":{"region":"there"}}`), http.StatusUnprocessableEntity, "spec.region",
			"field is immutable: it is here"},
		{g.merge(ctx, `{"spec":{"provider":{"workers":[]}}}`), http.StatusForbidden, "spec.provider.workers",
			"must not become empty"},
		{g.merge(ctx, `{"metadata":{"annotations":{"gardener.cloud/operation":"reconcil"}}}`),
			http.StatusUnprocessableEntity,
			"metadata.annotations[gardener.cloud/operation]", `"reconcil" is none of the operations of a shoot`},
		{g.Patch(ctx, &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"networks":{"pods":"10.7.0.0/16"}}}`))),
			http.StatusUnprocessableEntity, "spec.networks.pods", "field is immutable: it is 10.1.0.0/16"},
		{g.Create(ctx, &gardencorev1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "q"},
			Spec: gardencorev1beta1.ProjectSpec{Namespace: ptr.To("garden-p")}}),
			http.StatusUnprocessableEntity, "spec.namespace", `is the namespace of project "p" already`},
		{g.Patch(ctx, &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"}},
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"regions":[{"name":"here"},{"name":"here"}]}}`))),
			http.StatusUnprocessableEntity, "spec.regions[1].name", `Duplicate value: "here"`},
	} {
		refused(t, c.err, c.code, c.field, c.text)
	}
	want := []string{
		"spec.kubernetes.kubeScheduler.profile: accepted, without effect here",
		"spec.purpse: unknown field, kept without effect here",
	}
	patch := `{"spec":{"kubernetes":{"kubeScheduler":{"profile":"bin-packing"}},"purpse":"testing"}}`
	got := g.warningsOf(t, func(c client.Client) error {
		return c.Patch(ctx, key("alpha"), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	// Defaults cause no warnings.
	got = g.warningsOf(t, func(c client.Client) error { return c.Create(ctx, alphaOnServer("beta"), client.DryRunAll) })
	if len(got) > 0 {
		t.Errorf("warnings of a shoot that has no field without effect: %q", got)
	}
}

// warningsOf are what a client is warned of.
func (g *gardenOnServer) warningsOf(t *testing.T, write func(client.Client) error) []string {
	t.Helper()
	config, recorder := rest.CopyConfig(g.config), &warningRecorder{}
	config.WarningHandler = recorder
	c, err := client.New(config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(c); err != nil {
		t.Fatal(err)
	}
	return recorder.texts
}

type warningRecorder struct {
	mu    sync.Mutex
	texts []string
}

func (h *warningRecorder) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !strings.HasPrefix(text, "unrecognized format") {
		h.texts = append(h.texts, text)
	}
}
