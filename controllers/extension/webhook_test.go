package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/extension/operatingsystem"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// TestMirrorsByWebhook: a real API server asks the provider about the OperatingSystemConfigs of shoots that have its
// Extension, and about no others. Who writes one again without mirrors finds them in it again.
func TestMirrorsByWebhook(t *testing.T) {
	t.Parallel()
	log.SetLogger(logr.Discard())
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Seed()})
	mgr, err := newManager(config, "0")
	if err != nil {
		t.Fatal(err)
	}
	seed := mgr.GetClient()
	w := &operatingsystem.Webhook{Host: webhookHost, Port: freePort(t), CertDir: t.TempDir(), Seed: seed}
	if err := w.AddToManager(mgr); err != nil {
		t.Fatal(err)
	}
	register(t, seed, w)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run the manager: %v", err)
		}
	})

	mirrored, plain := "shoot--p--mirrored", "shoot--p--plain"
	shootNamespace(t, seed, mirrored, map[string]string{"extensions.extensions.gardener.cloud/transplant": "true"},
		operatingsystem.ExtensionConfig{Mirrors: []operatingsystem.Mirror{
			{Upstream: "docker.io", Hosts: []operatingsystem.MirrorHost{{Host: "https://mirror.test"}}},
			{Upstream: "own.test",
				Hosts: []operatingsystem.MirrorHost{{Host: "https://cache.test",
					Capabilities: []extensionsv1alpha1.RegistryCapability{"pull"}}}},
		}})
	shootNamespace(t, seed, plain, nil,
		operatingsystem.ExtensionConfig{Mirrors: []operatingsystem.Mirror{{Upstream: "docker.io"}}})

	want := []extensionsv1alpha1.RegistryConfig{
		{Upstream: "other.test"},
		{Upstream: "docker.io", Server: ptr.To("https://registry-1.docker.io"),
			Hosts: []extensionsv1alpha1.RegistryHost{{URL: "https://mirror.test"}}},
		{Upstream: "own.test",
			Hosts: []extensionsv1alpha1.RegistryHost{{URL: "https://cache.test",
				Capabilities: []extensionsv1alpha1.RegistryCapability{"pull"}}}},
	}
	object := oscWith(mirrored, "reconcile", "other.test", "own.test")
	// The API server learns of the configuration a little later than it has stored it.
	until(t, "the webhook is asked", func(ctx context.Context) error {
		if err := client.IgnoreNotFound(seed.Delete(ctx, object.DeepCopy())); err != nil {
			return err
		}
		made := object.DeepCopy()
		if err := seed.Create(ctx, made); err != nil {
			return err
		}
		if diff := cmp.Diff(want, made.Spec.CRIConfig.Containerd.Registries); diff != "" {
			return errorText("registries (-want +got):\n" + diff)
		}
		return nil
	})
	again := object.DeepCopy()
	if err := seed.Patch(t.Context(), again, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"criConfig":{"containerd":{"registries":null}}}}`))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[1:], again.Spec.CRIConfig.Containerd.Registries); diff != "" {
		t.Errorf("registries written anew (-want +got):\n%s", diff)
	}
	for _, o := range []*extensionsv1alpha1.OperatingSystemConfig{oscWith(mirrored, "provision"),
		oscWith(plain, "reconcile")} {
		if err := seed.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if left := o.Spec.CRIConfig.Containerd.Registries; left != nil {
			t.Errorf("%s of %s has got registries: %v", o.Name, o.Namespace, left)
		}
	}
}

// register does what is done when a seed is set up. There is no Service here: nothing forwards its address.
func register(t *testing.T, seed client.Client, w *operatingsystem.Webhook) {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey(w.Host, []net.IP{net.ParseIP(w.Host)}, nil)
	if err := errors.Join(err, os.WriteFile(filepath.Join(w.CertDir, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(w.CertDir, "tls.key"), key, 0o600)); err != nil {
		t.Fatal(err)
	}
	configuration := operatingsystem.WebhookConfiguration("extensions", certificate)
	to := configuration.Webhooks[0].ClientConfig
	to.URL = ptr.To(fmt.Sprintf("https://%s:%d%s", w.Host, w.Port, *to.Service.Path))
	to.Service = nil
	if err := seed.Apply(t.Context(), configuration, client.FieldOwner("test")); err != nil {
		t.Fatal(err)
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

func until(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			last = try(ctx)
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("wait until %s: %v", what, last)
	}
}

func oscWith(namespace, purpose string, upstreams ...string) *extensionsv1alpha1.OperatingSystemConfig {
	o := &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: purpose}}
	o.Spec.Type, o.Spec.Purpose = reference.Type, extensionsv1alpha1.OperatingSystemConfigPurpose(purpose)
	o.Spec.CRIConfig = &extensionsv1alpha1.CRIConfig{
		Name: "containerd", CgroupDriver: ptr.To(extensionsv1alpha1.CgroupDriverSystemd),
		Containerd: &extensionsv1alpha1.ContainerdConfig{SandboxImage: "pause:3"},
	}
	for _, upstream := range upstreams {
		o.Spec.CRIConfig.Containerd.Registries = append(o.Spec.CRIConfig.Containerd.Registries,
			extensionsv1alpha1.RegistryConfig{Upstream: upstream})
	}
	return o
}

func shootNamespace(t *testing.T, seed client.Client, name string, labels map[string]string,
	config operatingsystem.ExtensionConfig) {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	shoot := `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"name":"s"},` +
		`"spec":{"extensions":[{"type":"transplant","providerConfig":` + string(raw) + `}]}}`
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cluster.Spec.Shoot = runtime.RawExtension{Raw: []byte(shoot)}
	empty := runtime.RawExtension{Raw: []byte("{}")}
	cluster.Spec.Seed, cluster.Spec.CloudProfile = empty, empty
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		cluster} {
		if err := seed.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// webhookHost is the webhook server's. Nobody else has a port there, as clients have at 127.0.0.1: one that is free
// stays so.
const webhookHost = "127.221.9.1"

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", webhookHost+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address, is := listener.Addr().(*net.TCPAddr)
	if !is || !strings.HasPrefix(address.String(), "127.") {
		t.Fatalf("listening on %s", listener.Addr())
	}
	return address.Port
}
