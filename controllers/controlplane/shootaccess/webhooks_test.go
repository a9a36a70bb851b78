package shootaccess

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/flow"
)

const webhookDown = `failed calling webhook "a.test": failed to call webhook: Post "https://127.0.0.1:1/": ` +
	`connection refused`

// refusing is an API server of which every request fails.
func refusing(err error) client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return err
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return err
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return err
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return err
		},
		DeleteAllOf: func(context.Context, client.WithWatch, client.Object, ...client.DeleteAllOfOption) error {
			return err
		},
	})
}

// Whatever an operation asks of the shoot's API server: where a webhook fails it, the last error has the code, and no
// retry helps. The same text of another API server is none of the shoot's webhooks.
func TestWebhookCodes(t *testing.T) {
	t.Parallel()
	object, key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "kube-system"}}, client.ObjectKey{}
	requests := map[string]func(context.Context, client.Client) error{
		"get":    func(ctx context.Context, c client.Client) error { return c.Get(ctx, key, object.DeepCopy()) },
		"list":   func(ctx context.Context, c client.Client) error { return c.List(ctx, &corev1.SecretList{}) },
		"create": func(ctx context.Context, c client.Client) error { return c.Create(ctx, object.DeepCopy()) },
		"update": func(ctx context.Context, c client.Client) error { return c.Update(ctx, object.DeepCopy()) },
		"patch": func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, object.DeepCopy(), client.MergeFrom(object))
		},
		"delete": func(ctx context.Context, c client.Client) error { return c.Delete(ctx, object.DeepCopy()) },
		"empty":  func(ctx context.Context, c client.Client) error { return c.DeleteAllOf(ctx, &corev1.Secret{}) },
		"apply":  func(ctx context.Context, c client.Client) error { return objects.Apply(ctx, c, object.DeepCopy()) },
		"several": func(ctx context.Context, c client.Client) error {
			return errors.Join(errors.New("x"), c.List(ctx, &corev1.SecretList{}))
		},
	}
	code := []gardencorev1beta1.ErrorCode{"ERR_PROBLEMATIC_WEBHOOK"}
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, c := range map[string]struct {
		err       error
		elsewhere bool
		want      []gardencorev1beta1.ErrorCode
		state     gardencorev1beta1.LastOperationState
	}{
		"its server is away": {apierrors.NewInternalError(errors.New(webhookDown)), false, code, "Failed"},
		"it denies": {
			apierrors.NewForbidden(secrets, "s", errors.New(`admission webhook "a.test" denied the request: no`)), false, code,
			"Failed",
		},
		"in the seed":      {apierrors.NewInternalError(errors.New(webhookDown)), true, nil, "Error"},
		"another failure":  {apierrors.NewInternalError(errors.New("etcdserver: no leader")), false, nil, "Error"},
		"it has not begun": {apierrors.NewServiceUnavailable("starting"), false, nil, "Error"},
	} {
		for verb, request := range requests {
			t.Run(name+", "+verb, func(t *testing.T) {
				t.Parallel()
				asked := refusing(c.err)
				if !c.elsewhere {
					asked = WithWebhookCodes(asked)
				}
				g := &flow.Graph{}
				g.Add(flow.Task{Name: "Asking", Run: func(ctx context.Context) error { return request(ctx, asked) }})
				s := &run.Status{Scope: controlplanetest.Begun(t)}
				err := g.Run(t.Context(), nil)
				if !errors.Is(err, c.err) {
					t.Errorf("%v does not wrap what the API server said", err)
				}
				if err := s.Fail(t.Context(), err, time.Hour); err != nil {
					t.Fatal(err)
				}
				status := controlplanetest.InGarden(t, s.Scope).Status
				if diff := cmp.Diff(c.want, status.LastErrors[0].Codes); diff != "" || status.LastOperation.State != c.state {
					t.Errorf("%s (-want +got):\n%s", status.LastOperation.State, diff)
				}
			})
		}
	}
}
