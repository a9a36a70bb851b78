package contract

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

func savedExtension() *shootstate.State {
	reference := gardencorev1beta1.NamedResourceReference{Name: "tls"}
	reference.ResourceRef.APIVersion, reference.ResourceRef.Kind, reference.ResourceRef.Name = "v1", "ConfigMap", "tls"
	return &shootstate.State{Extensions: []shootstate.ExtensionState{{
		Kind: "Extension", Name: "certs", State: &runtime.RawExtension{Raw: []byte(`{"serial":7}`)},
		Resources: []gardencorev1beta1.NamedResourceReference{reference},
		Objects: []*unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "tls"}, "data": map[string]any{"k": "v"},
		}}},
	}}}
}

// A Secret that was saved with the time of the next token is restored without it: the token is requested at once.
func TestRestore_SecretWithToken_IsRenewedAtOnce(t *testing.T) {
	t.Parallel()
	const prefix = "serviceaccount.resources.gardener.cloud/"
	o := &Objects{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeRestore, interceptor.Funcs{})}
	o.State = savedExtension()
	o.State.Extensions[0].Objects = []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "shoot-access-certs",
			"annotations": map[string]any{prefix + "name": "certs", prefix + "token-renew-timestamp": "2099-01-01T00:00:00Z"}},
	}}}
	extension := &extensionsv1alpha1.Extension{ObjectMeta: o.Meta("certs")}
	if err := o.Deploy(t.Context(), extension, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := o.Seed.Get(t.Context(), o.Key("shoot-access-certs"), secret); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{prefix + "name": "certs"}, secret.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

var errCut = errors.New("cut off")

// A restore that is cut off at every write it makes ends in the same state when it is run again
// (docs/specification/quirks.md#quirk-r1, docs/specification/quirks.md#quirk-r2).
func TestRestoreExtensionSurvivesACutAtEveryWrite(t *testing.T) {
	t.Parallel()
	for cut := 0; ; cut++ {
		writes := 0
		count := func() error {
			writes++
			if writes == cut {
				return errCut
			}
			return nil
		}
		o := &Objects{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeRestore, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
				if err := count(); err != nil {
					return err
				}
				return c.Create(ctx, object, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
				opts ...client.PatchOption) error {
				if err := count(); err != nil {
					return err
				}
				return c.Patch(ctx, object, patch, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch,
				opts ...client.SubResourcePatchOption) error {
				if err := count(); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, object, patch, opts...)
			},
		})}
		o.State = savedExtension()
		deploy := func() error {
			object := controlplanetest.Certs()
			return o.Deploy(t.Context(), object, func() error { object.Spec.Type = "certs"; return nil })
		}
		err := deploy()
		if cut > 0 && err == nil {
			if cut < 4 {
				t.Fatalf("a restore makes only %d writes", cut)
			}
			return // every write has been cut once
		}
		if cut > 0 && !errors.Is(err, errCut) {
			t.Fatalf("cut at write %d: got %v", cut, err)
		}
		if cut > 0 {
			err = deploy()
		}
		if err != nil {
			t.Fatalf("after a cut at write %d: %v", cut, err)
		}
		got := controlplanetest.Certs()
		if err := o.Seed.Get(t.Context(), client.ObjectKeyFromObject(got), got); err != nil {
			t.Fatal(err)
		}
		if got.Annotations[constants.GardenerOperation] != constants.GardenerOperationRestore ||
			got.Status.State == nil || string(got.Status.State.Raw) != `{"serial":7}` || len(got.Status.Resources) != 1 ||
			got.Spec.Type != "certs" {
			t.Errorf("after a cut at write %d the object is %+v", cut, got)
		}
		referenced := savedExtension().Extensions[0].Objects[0]
		if err := o.Seed.Get(t.Context(), client.ObjectKey{Namespace: "shoot--p--alpha", Name: "tls"},
			referenced); err != nil {
			t.Errorf("after a cut at write %d: %v", cut, err)
		}
	}
}

// A restored object is usually missing: it is created, given its state, if it has one, and asked for. It is not looked
// for before.
func TestDeploy_RestoredObject_IsOnlyWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state *shootstate.State
		want  string
	}{
		"with a state":    {savedExtension(), "create certs, create tls, patch status, patch certs"},
		"without a state": {&shootstate.State{}, "create certs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests []string
			o := &Objects{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeRestore, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					requests = append(requests, "get")
					return nil
				},
				Create: func(ctx context.Context, c client.WithWatch, object client.Object,
					options ...client.CreateOption) error {
					requests = append(requests, "create "+object.GetName())
					return c.Create(ctx, object, options...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
					options ...client.PatchOption) error {
					requests = append(requests, "patch "+object.GetName())
					return c.Patch(ctx, object, patch, options...)
				},
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object,
					patch client.Patch, options ...client.SubResourcePatchOption) error {
					requests = append(requests, "patch "+sub)
					return c.SubResource(sub).Patch(ctx, object, patch, options...)
				},
			})}
			o.State = c.state
			object := controlplanetest.Certs()
			if err := o.Deploy(t.Context(), object, func() error { object.Spec.Type = "certs"; return nil }); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(requests, ", "); got != c.want {
				t.Errorf("requests: %s, want %s", got, c.want)
			}
			if got := object.Annotations[constants.GardenerOperation]; got != constants.GardenerOperationRestore {
				t.Errorf("it is asked to %q", got)
			}
		})
	}
}

func TestARestoredExtensionIsLeftAlone(t *testing.T) {
	t.Parallel()
	object := controlplanetest.Certs()
	object.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Restore", State: "Succeeded"}
	o := &Objects{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeRestore, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errors.New("must not be written")
		},
	}, object)}
	o.State = savedExtension()
	if err := o.Deploy(t.Context(), controlplanetest.Certs(), func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestWaitSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	o := &Objects{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{})}
	err := o.Until(t.Context(), 20*time.Millisecond, "the moon", func(context.Context) error {
		return errors.New("it is day")
	})
	if timeout := (&scope.TimeoutError{}); !errors.As(err, &timeout) || !strings.Contains(err.Error(), "the moon") ||
		!strings.Contains(err.Error(), "it is day") {
		t.Errorf("got %v, want a timeout that says what for and why not", err)
	}
	if err := o.Until(t.Context(), time.Minute, "the moon", func(context.Context) error {
		return scope.Permanent(errCut)
	}); !errors.Is(err, errCut) {
		t.Errorf("got %v, want the permanent error at once", err)
	}
}

// The bell wakes a wait that would otherwise look again only after an hour.
func TestTheBellWakesWaits(t *testing.T) {
	t.Parallel()
	o := &Objects{Scope: controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{})}
	o.WaitInterval = time.Hour
	looks := 0
	err := o.Until(t.Context(), time.Minute, "a ring", func(context.Context) error {
		if looks++; looks == 2 {
			return nil
		}
		go o.Bell.Ring("shoot--p--alpha")
		return errors.New("not yet")
	})
	if err != nil || looks != 2 {
		t.Errorf("got %v after %d looks", err, looks)
	}
}
