package admission

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// patience bounds every wait of the suite.
const patience = time.Minute

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme, seedmanagementv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// gardenOnServer is an API server with the garden's definitions, and a landscape to move shoots in.
type gardenOnServer struct {
	config *rest.Config
	client.Client
}

func startGarden(t *testing.T) *gardenOnServer {
	t.Helper()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Garden()})
	c, err := client.New(config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	g := &gardenOnServer{config: config, Client: c}
	g.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}})
	g.create(t, &gardencorev1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: gardencorev1beta1.ProjectSpec{Namespace: ptr.To("garden-p"), Tolerations: &gardencorev1beta1.ProjectTolerations{
			Defaults: []gardencorev1beta1.Toleration{{Key: "given"}}, Whitelist: []gardencorev1beta1.Toleration{{Key: "given"}},
		}},
	})
	g.create(t, admissiontest.Profile())
	for _, name := range []string{"a", "b", "c"} {
		seed := admissiontest.Seed(name)
		seed.Status = gardencorev1beta1.SeedStatus{}
		if name == "c" {
			seed.Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: "closed"}}
		}
		g.create(t, &seed)
	}
	return g
}

func (g *gardenOnServer) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := g.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// admissionOn runs the webhook server as the garden-controller-manager does. It returns how to end it.
func admissionOn(t *testing.T, g *gardenOnServer, host string, tolerations ...toleration.Lists) (stop func()) {
	t.Helper()
	port := freePort(t, host)
	mgr, err := manager.New(g.config, manager.Options{
		Scheme: testScheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Host: host, Port: port, Garden: g.Client}
	for _, lists := range tolerations {
		o.Tolerations = lists
	}
	if err := AddToManager(mgr, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = func() {
		cancel()
		if err, open := <-done; open && err != nil {
			t.Errorf("the manager ended with %v", err)
		}
		close(done)
	}
	awaitReady(t, fmt.Sprintf("https://%s/readyz", net.JoinHostPort(host, fmt.Sprint(port))))
	return stop
}

// Addresses of webhook servers. Nobody else has a port there, as clients have at 127.0.0.1: one that is free stays so.
const host, nextHost = "127.221.7.1", "127.221.7.2"

func freePort(t *testing.T, host string) int {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func awaitReady(t *testing.T, url string) {
	t.Helper()
	probe := &http.Client{Transport: insecure(), Timeout: time.Second}
	poll(t, "the webhook server is ready", func(context.Context) (bool, error) {
		response, err := probe.Get(url)
		if err != nil {
			return false, nil
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

func poll(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, condition); err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}

// awaitInForce waits until the API server, which learns of webhooks by watches, asks the server about both: what may
// be, and what it completes.
func awaitInForce(t *testing.T, g *gardenOnServer) {
	t.Helper()
	probe := alphaOnServer("probe")
	probe.Spec.SeedName = ptr.To("none")
	poll(t, "the rules are in force", func(ctx context.Context) (bool, error) {
		err := g.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		return apierrors.IsInvalid(err), nil
	})
	probe.Spec.SeedName = nil
	poll(t, "shoots are completed", func(ctx context.Context) (bool, error) {
		completed := probe.DeepCopy()
		err := g.Create(ctx, completed, client.DryRunAll)
		return err == nil && len(completed.Spec.Tolerations) > 0, nil
	})
}

func alphaOnServer(name string) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "profile"},
			Region:       "here", Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3"},
			Provider: gardencorev1beta1.Provider{Type: "transplant", Workers: []gardencorev1beta1.Worker{{
				Name: "pool", Minimum: 1, Maximum: 1, Zones: []string{"here-1"},
				Machine: gardencorev1beta1.Machine{
					Type: "medium", Image: &gardencorev1beta1.ShootMachineImage{Name: "simulated", Version: ptr.To("1.2.0")},
				},
			}}},
		},
	}
}
