package secondsign

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// direct reaches shoots without a proxy.
type direct struct{}

func (direct) Config(server string, ca []byte, _ string) *rest.Config {
	return &rest.Config{Host: server, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func TestHearing(t *testing.T) {
	t.Parallel()
	answers := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "" {
				t.Errorf("asked %s, authorized by %q", r.URL.Path, r.Header.Get("Authorization"))
			}
			w.WriteHeader(status)
		})
	}
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, c := range map[string]struct {
		handler  http.Handler
		foreign  bool // another's certificate authority is published
		nameless bool
		want     bool
	}{
		"ready":                       {handler: answers(http.StatusOK), want: true},
		"asks who it is":              {handler: answers(http.StatusUnauthorized), want: true},
		"not ready":                   {handler: answers(http.StatusInternalServerError)},
		"hangs":                       {handler: hangs},
		"somebody else has the name":  {handler: http.NotFoundHandler(), foreign: true},
		"has no name and is no shoot": {handler: http.NotFoundHandler(), nameless: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(c.handler)
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
			server.StartTLS()
			t.Cleanup(server.Close)
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			if c.foreign {
				ca = nil
			}
			shoot := shootOn("a", "Reconcile")
			garden := fake.NewClientBuilder().Build()
			published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "s.ca-cluster"},
				Data: map[string]string{"ca.crt": string(ca)}}
			if err := garden.Create(t.Context(), published); err != nil {
				t.Fatal(err)
			}
			if !c.nameless {
				shoot.Status.AdvertisedAddresses = []gardencorev1beta1.ShootAdvertisedAddress{{Name: "external",
					URL: "https://127.0.0.1:1"}, {Name: "internal", URL: server.URL}}
			}
			h := &Hearing{Garden: garden, Shoots: direct{}}
			ctx, cancel := t.Context(), func() {}
			if name == "hangs" {
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
			}
			defer cancel()
			if err := h.Hear(ctx, &shoot); (err == nil) != c.want {
				t.Errorf("heard: %v", err)
			}
			if err := garden.Delete(t.Context(), published, &client.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := h.Hear(t.Context(), &shoot); err == nil {
				t.Error("it is heard although nobody knows how to recognise it")
			}
		})
	}
}
