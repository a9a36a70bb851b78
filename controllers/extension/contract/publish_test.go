package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// What an action publishes is written with its success and not otherwise; what the API server finds too large is shown.
func TestPublish_Outcome_IsWrittenTogether(t *testing.T) {
	t.Parallel()
	large := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 413, Reason: metav1.StatusReasonRequestEntityTooLarge}}
	for name, test := range map[string]struct {
		ends, refused error
		want          []string // state of the operation, and whether the results are there, of each write of the status
	}{
		"success":   {want: []string{"Processing false", "Succeeded true"}},
		"waits":     {ends: WaitingFor(time.Second, "x"), want: []string{"Processing false", "Processing false"}},
		"fails":     {ends: errors.New("x"), want: []string{"Processing false", "Error false"}},
		"too large": {refused: large, want: []string{"Processing false", "Succeeded true", "Error false"}},
	} {
		o, writes := asking("restore"), []string(nil)
		base, _ := fakeSeed(t, o)
		seed := interceptor.NewClient(base, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client,
			sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			n := o.(*extensionsv1alpha1.Network)
			published := len(n.Status.IPFamilies) > 0
			writes = append(writes, fmt.Sprint(n.Status.LastOperation.State, " ", published))
			if published && test.refused != nil {
				return test.refused
			}
			return c.SubResource(sub).Patch(ctx, o, p, options...)
		}})
		kind := KindOf[*extensionsv1alpha1.Network]("Network")
		kind.ClusterOptional = true
		kind.OnReconcile = func(ctx context.Context, _ logr.Logger, o *extensionsv1alpha1.Network, _ *Cluster) error {
			Publish(ctx, func() { o.Status.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv4"} })
			return test.ends
		}
		r := &Reconciler[*extensionsv1alpha1.Network]{Client: seed, Clock: testingclock.NewFakeClock(time.Now()), Kind: kind,
			Type: "x", Class: extensionsv1alpha1.ExtensionClassShoot}
		_, _ = r.Reconcile(t.Context(), requestFor(o)) // what it returns is shown below
		if diff := cmp.Diff(test.want, writes); diff != "" {
			t.Errorf("%s: writes (-want +got):\n%s", name, diff)
		}
		if err := base.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if shown := o.Status.LastError; (shown != nil) != (name == "fails" || name == "too large") {
			raw, _ := json.Marshal(shown)
			t.Errorf("%s: lastError is %s", name, raw)
		}
	}
}
