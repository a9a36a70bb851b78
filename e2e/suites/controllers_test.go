//go:build e2e

package suites

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/e2e-framework/klient/decoder"
	"sigs.k8s.io/e2e-framework/klient/k8s"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/envfuncs"
	"sigs.k8s.io/e2e-framework/pkg/features"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/e2e/provider"
)

// controllersLandscape is the name of the landscape that the controllers are tried on.
const controllersLandscape = "e2e-controllers"

// within is how long one operation on a shoot may take, on a slow machine.
const within = 10 * time.Minute

// The life of a shoot, as its owner sees it in the garden.
func TestControllers(t *testing.T) {
	landscape := provider.New()
	landscape.WithPath(program)
	life := features.NewWithDescription("life of a shoot",
		"created, moved, sent to sleep, woken and deleted by changes of its object").
		WithLabel("suite", "controllers").WithLabel("step", "create").WithLabel("step", "migrate").WithLabel("step",
		"hibernate").WithLabel("step", "wake").WithLabel("step", "delete").
		WithSetup("a landscape", bringUp(landscape)).
		Assess("a shoot is created", created).
		Assess("its users reach it through the gateway",
			func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				usable(ctx, t, landscape)
				return ctx
			}).
		Assess("it moves to another seed", changed(`{"spec":{"seedName":"b"}}`, gardencorev1beta1.LastOperationTypeRestore,
			func(s *gardencorev1beta1.Shoot) bool {
				return ptr.Deref(s.Status.SeedName, "") == "b"
			})).
		Assess("it sleeps", changed(`{"spec":{"hibernation":{"enabled":true}}}`, gardencorev1beta1.LastOperationTypeReconcile,
			func(s *gardencorev1beta1.Shoot) bool {
				return s.Status.IsHibernated
			})).
		Assess("it is woken", changed(`{"spec":{"hibernation":{"enabled":false}}}`,
			gardencorev1beta1.LastOperationTypeReconcile, func(s *gardencorev1beta1.Shoot) bool {
				return !s.Status.IsHibernated
			})).
		Assess("its users reach it again", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			usable(ctx, t, landscape)
			return ctx
		}).
		Assess("it is deleted", deleted).
		WithTeardown("the landscape ends", func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
			if t.Failed() {
				if err := landscape.ExportLogs(ctx, filepath.Join(results, controllersLandscape)); err != nil {
					t.Error(err)
				}
			}
			ctx, err := envfuncs.DestroyCluster(controllersLandscape)(ctx, cfg)
			if err != nil {
				t.Error(err)
			}
			return ctx
		}).Feature()
	environment.Test(t, life)
}

func bringUp(landscape *provider.Provider) features.Func {
	return func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
		ctx, err := envfuncs.CreateCluster(landscape, controllersLandscape)(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := gardencorev1beta1.AddToScheme(cfg.Client().Resources().GetScheme()); err != nil {
			t.Fatal(err)
		}
		return ctx
	}
}

func alpha() *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
}

// await the operation of this type on the shoot to succeed, with what it was for.
func await(ctx context.Context, t *testing.T, garden *resources.Resources,
	operation gardencorev1beta1.LastOperationType, reached func(*gardencorev1beta1.Shoot) bool) {
	t.Helper()
	seen := "nothing"
	err := wait.For(func(ctx context.Context) (bool, error) {
		shoot := alpha()
		if err := garden.Get(ctx, shoot.Name, shoot.Namespace, shoot); err != nil {
			return false, err
		}
		last := shoot.Status.LastOperation
		if last == nil {
			return false, nil
		}
		seen = fmt.Sprintf("%s %s, generation %d of %d: %s", last.Type, last.State, shoot.Status.ObservedGeneration,
			shoot.Generation, last.Description)
		done := last.Type == operation && last.State == gardencorev1beta1.LastOperationStateSucceeded &&
			shoot.Status.ObservedGeneration == shoot.Generation
		return done && reached(shoot), nil
	}, wait.WithContext(ctx), wait.WithTimeout(within), wait.WithInterval(time.Second))
	if err != nil {
		t.Fatalf("wait for %s: %v; last seen: %s", operation, err, seen)
	}
}

func created(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
	garden := cfg.Client().Resources()
	file, err := os.Open(filepath.Join(root, "docs", "examples", "shoot.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	shoot := alpha()
	if err := decoder.Decode(file, shoot); err != nil {
		t.Fatal(err)
	}
	if err := garden.Create(ctx, shoot); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, garden, gardencorev1beta1.LastOperationTypeCreate, func(*gardencorev1beta1.Shoot) bool { return true })
	return ctx
}

// changed patches the shoot and waits for what comes of it.
func changed(patch string, operation gardencorev1beta1.LastOperationType,
	reached func(*gardencorev1beta1.Shoot) bool) features.Func {
	return func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
		garden := cfg.Client().Resources()
		if err := garden.Patch(ctx, alpha(), k8s.Patch{PatchType: types.MergePatchType, Data: []byte(patch)}); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, garden, operation, reached)
		return ctx
	}
}

// usable: nodes are listed by the shoot's public name.
func usable(ctx context.Context, t *testing.T, landscape *provider.Provider) {
	t.Helper()
	kubeconfig, err := landscape.GenerateKubeconfig("alpha", "--actor=user")
	if err != nil {
		t.Fatal(err)
	}
	shoot := envconf.NewWithKubeConfig(kubeconfig).Client().Resources()
	var nodes corev1.NodeList
	err = wait.For(func(ctx context.Context) (bool, error) {
		err := shoot.List(ctx, &nodes)
		return err == nil && len(nodes.Items) == 1, nil
	}, wait.WithContext(ctx), wait.WithTimeout(within), wait.WithInterval(time.Second))
	if err != nil {
		t.Fatalf("list the nodes of the shoot: %v; last seen %d", err, len(nodes.Items))
	}
}

func deleted(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
	garden := cfg.Client().Resources()
	if err := garden.Delete(ctx, alpha()); err != nil {
		t.Fatal(err)
	}
	err := wait.For(func(ctx context.Context) (bool, error) {
		shoot := alpha()
		err := garden.Get(ctx, shoot.Name, shoot.Namespace, shoot)
		return apierrors.IsNotFound(err), nil
	}, wait.WithContext(ctx), wait.WithTimeout(within), wait.WithInterval(time.Second))
	if err != nil {
		t.Fatalf("the shoot is not gone: %v", err)
	}
	return ctx
}
