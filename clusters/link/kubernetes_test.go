package link_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// TestKubernetes takes client-go to a real API server, over a link and by name through a proxy.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{})
	roots := rootsOf(t, config)
	w := newWorld(t, answer(1)) // for its authority
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	l := w.link(t, link.Options{Upstream: target, UpstreamTLS: &tls.Config{RootCAs: roots}})
	p := w.proxy(t, link.ProxyOptions{
		Resolve:       always(target.Hostname(), time.Minute),
		UpstreamRoots: func(string) *x509.CertPool { return roots },
	})
	proxyURL, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	byName := "https://" + net.JoinHostPort("localhost", target.Port())
	for name, c := range map[string]struct {
		config *rest.Config
		link   *link.Link
	}{
		"link":  {w.kubeconfig(config, l.URL(), nil), l},
		"proxy": {w.kubeconfig(config, byName, proxyURL), p.Link("localhost")},
	} {
		t.Run(name, func(t *testing.T) {
			k := kubernetesTest{direct: clientset(t, config), through: clientset(t, c.config), config: c.config, link: c.link,
				prefix: name}
			t.Run("anonymous is refused", k.anonymous)
			t.Run("apply and list protobuf", k.applyAndList)
			t.Run("watch events", k.watchEvents)
			t.Run("informer survives cut", func(t *testing.T) { k.informer(t, wire.Cut{}) })
			t.Run("informer survives reset", func(t *testing.T) { k.informer(t, wire.Reset{}) })
		})
	}
	t.Run("faults", ground{w, config, clientset(t, config), target, roots}.apiFaults)
}

func rootsOf(t *testing.T, config *rest.Config) *x509.CertPool {
	t.Helper()
	data := config.CAData
	if len(data) == 0 {
		var err error
		if data, err = os.ReadFile(config.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		t.Fatal("the API server's authority cannot be read")
	}
	return roots
}

// kubeconfig is what an actor gets: the link's address and authority, and the target's token.
func (w *world) kubeconfig(direct *rest.Config, host string, proxy *url.URL) *rest.Config {
	c := &rest.Config{
		Host:            host,
		BearerToken:     direct.BearerToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: w.ca.PEM()},
		QPS:             -1,
		ContentConfig: rest.ContentConfig{ContentType: protobufType, AcceptContentTypes: protobufType +
			",application/json"},
	}
	if proxy != nil {
		c.Proxy = http.ProxyURL(proxy)
	}
	return c
}

func clientset(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	set, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

type kubernetesTest struct {
	direct, through *kubernetes.Clientset
	config          *rest.Config
	link            *link.Link
	prefix          string
}

func (k kubernetesTest) anonymous(t *testing.T) {
	config := rest.CopyConfig(k.config)
	config.BearerToken = "wrong"
	_, err := clientset(t, config).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("got %v, want the API server's own refusal", err)
	}
}

func (k kubernetesTest) applyAndList(t *testing.T) {
	ctx, name, large := t.Context(), k.prefix+"-applied", strings.Repeat("x", 900<<10)
	wanted := corev1apply.ConfigMap(name, "default").WithData(map[string]string{"key": large})
	if _, err := k.through.CoreV1().ConfigMaps("default").Apply(ctx, wanted,
		metav1.ApplyOptions{FieldManager: "link-test"}); err != nil {
		t.Fatal(err)
	}
	got, err := k.direct.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil || got.Data["key"] != large {
		t.Fatalf("applied %d bytes, found %d, %v", len(large), len(got.Data["key"]), err)
	}
	if fields := got.ManagedFields; len(fields) != 1 || fields[0].Manager != "link-test" ||
		fields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("the object's fields are managed by %v", fields)
	}
	var contentType string
	raw, err := k.through.CoreV1().RESTClient().Get().Namespace("default").Resource("configmaps").Do(ctx).ContentType(
		&contentType).Raw()
	if err != nil || contentType != protobufType || string(raw[:4]) != "k8s\x00" {
		t.Errorf("the list came as %q, %v", contentType, err)
	}
	list, err := k.through.CoreV1().ConfigMaps("default").List(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil || len(list.Items) != 1 || list.Items[0].Data["key"] != large {
		t.Errorf("listed %d objects, %v", len(list.Items), err)
	}
}

func (k kubernetesTest) watchEvents(t *testing.T) {
	ctx, name := t.Context(), k.prefix+"-watched"
	w, err := k.through.CoreV1().ConfigMaps("default").Watch(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	k.create(t, name)
	if event := wait(t, w.ResultChan()); event.Type != watch.Added || event.Object.(*corev1.ConfigMap).Name != name {
		t.Errorf("got the event %v", event)
	}
}

func (k kubernetesTest) create(t *testing.T, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := k.direct.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// informer sees nothing of what is created under the fault, and all of it after the heal.
func (k kubernetesTest) informer(t *testing.T, f link.Fault) {
	ctx, cancel := context.WithCancel(t.Context())
	configMaps := k.through.CoreV1().ConfigMaps("default")
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (object runtime.Object, err error) {
			return configMaps.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return configMaps.Watch(ctx, o)
		},
	}, &corev1.ConfigMap{}, 0, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	defer func() {
		cancel()
		wait(t, done)
	}()
	has := func(name string) bool {
		_, found, _ := informer.GetStore().GetByKey("default/" + name)
		return found
	}
	eventually(t, "the informer has synced", informer.HasSynced)
	before, during, after := k.names(f, "before"), k.names(f, "during"), k.names(f, "after")
	k.create(t, before)
	eventually(t, "the informer sees what was created before", func() bool { return has(before) })

	i := k.link.Begin(f)
	k.create(t, during)
	eventually(t, "the fault has hit", func() bool { return i.Hits() > 0 })
	if has(during) {
		t.Error("the informer sees through the fault")
	}
	i.Heal()
	eventually(t, "the informer sees what was created under the fault", func() bool { return has(during) })
	k.create(t, after)
	eventually(t, "the informer sees what was created after", func() bool { return has(after) })
}

func (k kubernetesTest) names(f link.Fault, when string) string {
	return strings.ToLower(fmt.Sprintf("%s-%T-%s", k.prefix, f, when))
}
