package maintenance_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/admission"
	"github.com/transplant-sim/transplant/controllers/admission/defaults"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// patience bounds every wait.
const patience = time.Minute

// wireShoot has fields that no type of ours has, in a worker pool too. Its window is never: it is maintained on
// request.
const wireShoot = `
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {namespace: garden-p, name: alpha}
spec:
  cloudProfile: {kind: CloudProfile, name: profile}
  region: here
  fieldOfTheFuture: {late: true}
  kubernetes: {version: 1.34.0, fieldOfTheFuture: 1}
  maintenance: {timeWindow: {begin: %s, end: %s}}
  provider:
    type: transplant
    workers:
    - {name: pool, minimum: 1, maximum: 1, fieldOfTheFuture: [1, 2],
       machine: {type: medium, image: {name: linux, version: 1.0.0, fieldOfTheFuture: x}}}
`

// TestOnAnAPIServer maintains a shoot on a stock API server, with the garden's admission in force.
func TestOnAnAPIServer(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	garden, err := client.New(config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	wire := &unstructured.Unstructured{}
	away := time.Now().UTC().Add(6 * time.Hour)
	if err := yaml.Unmarshal(fmt.Appendf(nil, wireShoot, away.Format("150405-0700"),
		away.Add(time.Hour).Format("150405-0700")), &wire.Object); err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}},
		offersOnServer(), wire} {
		if err := garden.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	mgr, err := manager.New(config, manager.Options{
		Scheme: testScheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := admission.AddToManager(mgr, admission.Options{Host: host, Port: freePort(t), Garden: garden}); err != nil {
		t.Fatal(err)
	}
	k := newKeeper(garden)
	k.clock.SetTime(time.Now())
	if err := k.AddToManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	}()
	k.awaitAdmission(t)
	t.Run("updates", func(t *testing.T) { updatesOnServer(t, k) })
	t.Run("while the control plane is being moved", func(t *testing.T) { movingOnServer(t, k) })
}

// offersOnServer has nothing that has expired, whatever the time is.
func offersOnServer() *gardencorev1beta1.CloudProfile {
	profile := offers()
	profile.Spec.Kubernetes.Versions = []gardencorev1beta1.ExpirableVersion{{Version: "1.34.0"}, {Version: "1.34.2"},
		{Version: "1.34.3"}, {Version: "1.35.0"}}
	profile.Spec.MachineTypes[0].CPU.Set(1)
	return profile
}

// host of the webhook server. Nobody else has a port there, as clients have at 127.0.0.1: one that is free stays so.
const host = "127.221.8.1"

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func (k *keeper) poll(t *testing.T, what string,
	condition func(*gardencorev1beta1.Shoot) bool) *gardencorev1beta1.Shoot {
	t.Helper()
	var shoot *gardencorev1beta1.Shoot
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			shoot = k.shoot(t)
			return condition(shoot), nil
		})
	if err != nil {
		t.Fatalf("wait until %s: %v; the shoot has annotations %v, lastMaintenance %+v", what, err, shoot.Annotations,
			shoot.Status.LastMaintenance)
	}
	return shoot
}

// awaitAdmission waits until the API server asks the webhook server.
func (k *keeper) awaitAdmission(t *testing.T) {
	t.Helper()
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("the last answer: %v", err)
		}
	}()
	k.poll(t, "admission is in force", func(shoot *gardencorev1beta1.Shoot) bool {
		err = k.Garden.Patch(t.Context(), shoot,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"kubernetes":{"version":"1.0.0"}}}`)), client.DryRunAll)
		return apierrors.IsForbidden(err)
	})
}

func (k *keeper) status(t *testing.T, patch string) {
	t.Helper()
	if err := k.Garden.Status().Patch(t.Context(), tended(nil),
		client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func updatesOnServer(t *testing.T, k *keeper) {
	k.status(t, `{"status":{"lastOperation":{"type":"Create","state":"Succeeded","progress":100,"description":"",`+
		`"lastUpdateTime":"2026-01-01T00:00:00Z"}}}`)
	k.patch(t, `{"metadata":{"annotations":{"gardener.cloud/operation":"maintain"}}}`)
	shoot := k.poll(t, "the shoot is maintained", func(s *gardencorev1beta1.Shoot) bool {
		return s.Status.LastMaintenance != nil && s.Status.LastMaintenance.State == "Succeeded"
	})
	if got := shoot.Annotations["gardener.cloud/operation"]; got != "reconcile" {
		t.Errorf("the shoot is asked for %q, want reconcile", got)
	}
	wire := &unstructured.Unstructured{}
	wire.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))
	if err := k.Garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), wire); err != nil {
		t.Fatal(err)
	}
	spec := wire.Object["spec"].(map[string]any)
	delete(spec, "maintenance")
	want := map[string]any{
		"cloudProfile": map[string]any{"kind": "CloudProfile", "name": "profile"}, "region": "here",
		"fieldOfTheFuture": map[string]any{"late": true},
		"kubernetes":       map[string]any{"version": "1.34.3", "fieldOfTheFuture": int64(1)},
		"provider": map[string]any{"type": "transplant", "workers": []any{map[string]any{
			"name": "pool", "minimum": int64(1), "maximum": int64(1), "fieldOfTheFuture": []any{int64(1), int64(2)},
			"machine": map[string]any{"type": "medium", "image": map[string]any{"name": "linux", "version": "1.0.1",
				"fieldOfTheFuture": "x"}},
		}}},
	}
	// It was created before there was an admission, and gets its defaults with the first change.
	if err := defaults.Set("Shoot", map[string]any{"spec": want}); err != nil {
		t.Fatal(err)
	}
	delete(want, "maintenance")
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("the specification (-want +got):\n%s", diff)
	}
}

// movingOnServer: admission lets nothing change while the control plane is being moved. Maintenance tries, reports it,
// and is at peace until it is asked again (docs/specification/versions.md#mnt-4, docs/specification/versions.md#mnt-8).
func movingOnServer(t *testing.T, k *keeper) {
	k.patch(t, `{"metadata":{"annotations":{"gardener.cloud/operation":null}}}`)
	profile := client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"kubernetes":{"versions":[{"version":"1.34.3"},{"version":"1.34.4"},{"version":"1.35.0"}]}}}`))
	if err := k.Garden.Patch(t.Context(), &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"}},
		profile); err != nil {
		t.Fatal(err)
	}
	k.status(t, `{"status":{"lastOperation":{"type":"Migrate","state":"Processing"}}}`)
	k.patch(t, `{"metadata":{"annotations":{"gardener.cloud/operation":"maintain"}}}`)
	shoot := k.poll(t, "the maintenance has failed", func(s *gardencorev1beta1.Shoot) bool {
		return s.Status.LastMaintenance.State == "Failed" && s.Annotations["gardener.cloud/operation"] == ""
	})
	if shoot.Spec.Kubernetes.Version != "1.34.3" {
		t.Errorf("the shoot is at %s while it is being moved", shoot.Spec.Kubernetes.Version)
	}
	const want = "must not be changed while the control plane is being moved"
	if got := ptr.Deref(shoot.Status.LastMaintenance.FailureReason, ""); !strings.Contains(got, want) ||
		shoot.Status.LastMaintenance.Description != "Maintenance failed" {
		t.Errorf("lastMaintenance is %q: %q", shoot.Status.LastMaintenance.Description, got)
	}
	// The control plane has arrived: the next maintenance succeeds.
	k.status(t, `{"status":{"lastOperation":{"type":"Restore","state":"Succeeded"}}}`)
	k.patch(t, `{"metadata":{"annotations":{"gardener.cloud/operation":"maintain"}}}`)
	shoot = k.poll(t, "the shoot is maintained", func(s *gardencorev1beta1.Shoot) bool {
		return s.Status.LastMaintenance.State == "Succeeded"
	})
	if shoot.Spec.Kubernetes.Version != "1.34.4" || shoot.Status.LastMaintenance.FailureReason != nil {
		t.Errorf("the shoot is at %s, lastMaintenance is %+v", shoot.Spec.Kubernetes.Version, shoot.Status.LastMaintenance)
	}
}
