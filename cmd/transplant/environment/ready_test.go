package environment

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// A request that takes too long while a landscape starts is no reason to give it up.
func TestAwaitActorsOutlastsFailedRequests(t *testing.T) {
	t.Parallel()
	asked := 0
	ready := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "actor"},
		Status: appsv1.DeploymentStatus{AvailableReplicas: 1}}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(ready).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if asked++; asked < 3 {
				return errors.New("it took too long")
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	if err := awaitActors(t.Context(), c, "a"); err != nil || asked != 3 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestCheckActors(t *testing.T) {
	t.Parallel()
	deployment := func(generation, observed int64, ready int32) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "extension-acme", Name: "acme", Generation: generation},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: observed, AvailableReplicas: ready},
		}
	}
	const notReady = "extension-acme/acme is not available"
	for name, c := range map[string]struct {
		acme *appsv1.Deployment
		want string
	}{
		"Ready":              {deployment(1, 1, 1), ""},
		"NoReplicaReady":     {deployment(1, 1, 0), notReady},
		"ChangedAndNotSeen":  {deployment(2, 1, 1), notReady},
		"NeverSeenByAnybody": {deployment(1, 0, 0), notReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckActors(t.Context(), fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(c.acme).Build())
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Errorf("error %q, want %q", got, c.want)
			}
		})
	}
}
