package controlplane

import (
	"context"
	"errors"
	"fmt"
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
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/flow"
)

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

const webhookDown = `failed calling webhook "a.test": failed to call webhook: Post "https://127.0.0.1:1/": ` +
	`connection refused`

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
		"apply":  func(ctx context.Context, c client.Client) error { return Apply(ctx, c, object.DeepCopy()) },
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
				o := begun(t)
				err := g.Run(t.Context(), nil)
				if !errors.Is(err, c.err) {
					t.Errorf("%v does not wrap what the API server said", err)
				}
				if err := o.Fail(t.Context(), err, time.Hour); err != nil {
					t.Fatal(err)
				}
				status := inGarden(t, o).Status
				if diff := cmp.Diff(c.want, status.LastErrors[0].Codes); diff != "" || status.LastOperation.State != c.state {
					t.Errorf("%s (-want +got):\n%s", status.LastOperation.State, diff)
				}
			})
		}
	}
}

// Codes of all errors count that one wraps, each once.
func TestCodes(t *testing.T) {
	t.Parallel()
	coded := func(cause error, codes ...gardencorev1beta1.ErrorCode) error {
		return &CodedError{Message: "m", Codes: codes, Cause: cause}
	}
	for name, c := range map[string]struct {
		err  error
		want []gardencorev1beta1.ErrorCode
	}{
		"none":    {errors.New("x"), nil},
		"nothing": {nil, nil},
		"wrapped": {fmt.Errorf("y: %w", coded(nil, "A")), []gardencorev1beta1.ErrorCode{"A"}},
		"cause":   {coded(fmt.Errorf("y: %w", coded(nil, "B", "A")), "A"), []gardencorev1beta1.ErrorCode{"A", "B"}},
		"joined": {errors.Join(errors.New("x"), coded(nil, "B"), coded(nil, "A", "B")),
			[]gardencorev1beta1.ErrorCode{"B", "A"}},
		"late":    {&TimeoutError{Last: errors.Join(coded(nil), coded(nil, "A"))}, []gardencorev1beta1.ErrorCode{"A"}},
		"lasting": {Permanent(coded(nil, "A")), []gardencorev1beta1.ErrorCode{"A"}},
	} {
		if diff := cmp.Diff(c.want, codes(c.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Nodes that do not join have problematic webhooks for a cause where no other is known.
func TestBlameWebhooks(t *testing.T) {
	t.Parallel()
	late := &TimeoutError{What: "Worker", Timeout: time.Hour, Last: errors.New("1 of 2 nodes are ready")}
	quota := &TimeoutError{What: "Worker",
		Last: &CodedError{Codes: []gardencorev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED"}}}
	constraint := func(status gardencorev1beta1.ConditionStatus, reason string) gardencorev1beta1.Condition {
		return gardencorev1beta1.Condition{
			Type: "MaintenancePreconditionsSatisfied", Status: status, Reason: reason, Message: "strict is problematic.",
		}
	}
	machine := func(name string, phase machinev1alpha1.MachinePhase, code string, goes bool) client.Object {
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name}}
		if goes {
			m.Finalizers, m.DeletionTimestamp = []string{"x"}, &metav1.Time{Time: time.Unix(900, 0)}
		}
		m.Status.CurrentStatus.Phase, m.Status.LastOperation.ErrorCode = phase, code
		return m
	}
	joins := []client.Object{machine("a", "Running", "", false), machine("b", "Pending", "", false)}
	for name, c := range map[string]struct {
		err        error
		constraint gardencorev1beta1.Condition
		want       []gardencorev1beta1.ErrorCode
		machines   []client.Object // joins if not given
	}{
		"it has fallen silent": {late, constraint("False", "ProblematicWebhooks"),
			[]gardencorev1beta1.ErrorCode{"ERR_PROBLEMATIC_WEBHOOK"},
			[]client.Object{machine("a", "Unknown", "", false)}},
		"a budget holds a node": {late, constraint("False", "ProblematicWebhooks"), nil,
			[]client.Object{machine("a", "Running", "", false), machine("b", "Terminating", "", true)}},
		"all are nodes, and not all updated": {late, constraint("False", "ProblematicWebhooks"), nil,
			[]client.Object{machine("a", "Running", "", false), machine("b", "Running", "", false)}},
		"the cloud makes no machine": {late, constraint("False", "ProblematicWebhooks"), nil,
			[]client.Object{machine("a", "CrashLoopBackOff", "Internal", false), machine("b", "Failed", "Internal", false)}},
		"problematic": {late, constraint("False", "ProblematicWebhooks"),
			[]gardencorev1beta1.ErrorCode{"ERR_PROBLEMATIC_WEBHOOK"}, nil},
		"remediated":        {late, constraint("False", "RemediatedWebhooks"), nil, nil},
		"none problematic":  {late, constraint("True", "NoProblematicWebhooks"), nil, nil},
		"nobody could look": {late, constraint("Unknown", "ConditionCheckError"), nil, nil},
		"another cause": {quota, constraint("False", "ProblematicWebhooks"),
			[]gardencorev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED"}, nil},
		"time is not up":      {context.Canceled, constraint("False", "ProblematicWebhooks"), nil, nil},
		"the seed is refused": {errors.New("forbidden"), constraint("False", "ProblematicWebhooks"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			machines := c.machines
			if machines == nil {
				machines = joins
			}
			o.Seed = fake.NewClientBuilder().WithScheme(seedScheme(t)).WithObjects(machines...).Build()
			if err := o.PatchStatus(t.Context(), func(status *gardencorev1beta1.ShootStatus) {
				status.Constraints = []gardencorev1beta1.Condition{c.constraint}
			}); err != nil {
				t.Fatal(err)
			}
			err := o.blameWebhooks(t.Context(), c.err)
			if diff := cmp.Diff(c.want, codes(err)); diff != "" || !errors.Is(err, c.err) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			want := "Worker is not there after 1h0m0s: 1 of 2 nodes are ready; strict is problematic."
			if name == "problematic" && err.Error() != want {
				t.Errorf("%v", err)
			}
		})
	}
}
