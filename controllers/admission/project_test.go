package admission

import (
	"context"
	"errors"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestSameTolerations(t *testing.T) {
	t.Parallel()
	with := func(defaults, whitelist []gardencorev1beta1.Toleration) *gardencorev1beta1.Project {
		return &gardencorev1beta1.Project{
			Spec: gardencorev1beta1.ProjectSpec{Tolerations: &gardencorev1beta1.ProjectTolerations{Defaults: defaults,
				Whitelist: whitelist}}}
	}
	one := []gardencorev1beta1.Toleration{{Key: "a"}}
	valued := []gardencorev1beta1.Toleration{{Key: "a", Value: ptr.To("b")}}
	none := &gardencorev1beta1.Project{}
	for name, c := range map[string]struct {
		a, b *gardencorev1beta1.Project
		want bool
	}{
		"none":                {none, none, true},
		"none and empty":      {none, with(nil, []gardencorev1beta1.Toleration{}), true},
		"equal":               {with(one, one), with(one, one), true},
		"a whitelist":         {none, with(nil, one), false},
		"defaults":            {none, with(one, nil), false},
		"another value":       {with(nil, one), with(nil, valued), false},
		"no whitelist longer": {with(nil, one), none, false},
	} {
		if got := sameTolerations(c.a, c.b); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestProjectTolerationsOnServer asks a real authorizer, as a user who may write projects and nothing more, before and
// after the verb is given.
func TestProjectTolerationsOnServer(t *testing.T) {
	g := startGarden(t)
	stop := admissionOn(t, g, host)
	defer stop()
	awaitInForce(t, g)
	grant := func(name string, verbs ...string) {
		g.create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"core.gardener.cloud"}, Resources: []string{"projects"}, Verbs: verbs},
		}})
		g.create(t, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
				Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "member"}},
		})
	}
	grant("write", "get", "patch")
	config := rest.CopyConfig(g.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "member"}
	member, err := client.New(config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	write := func(ctx context.Context, patch string) error {
		return member.Patch(ctx, &gardencorev1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "p"}},
			client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	const opened = `{"spec":{"tolerations":{"whitelist":[{"key":"given"},{"key":"closed"}]}}}`
	poll(t, "the member may write", func(ctx context.Context) (bool, error) {
		return write(ctx, `{"spec":{"purpose":"x"}}`) == nil, nil
	})
	refused(t, write(t.Context(), opened), 403, "spec.tolerations",
		`user "member" is not allowed to change the tolerations of the project: it takes the verb `+
			`"modify-spec-tolerations-whitelist" on it`)
	refused(t, write(t.Context(), `{"spec":{"tolerations":{"defaults":null}}}`), 403, "spec.tolerations",
		"modify-spec-tolerations-whitelist")
	grant("open", "modify-spec-tolerations-whitelist")
	poll(t, "the member may open seeds", func(ctx context.Context) (bool, error) {
		err := write(ctx, opened)
		if status := apierrors.APIStatus(nil); err != nil && !(errors.As(err, &status) && apierrors.IsForbidden(err)) {
			return false, err
		}
		return err == nil, nil
	})
}
