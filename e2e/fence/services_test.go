package fence_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/gateway"
)

// services serves the one namespace and the Services of the shoot as a seed's API server does, where nothing ever
// changes, and returns the path of a kubeconfig. With a real one for all shoots their gateways would hold each other's
// guards.
func (s *seed) services(t *testing.T, guard, server string) string {
	t.Helper()
	namespace := "shoot--p--" + s.shoot
	service := func(service, ip string, port int32) corev1.Service {
		return corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service, ResourceVersion: "1",
				Annotations: map[string]string{gateway.AnnotationSNIHosts: name}},
			Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: port}}},
		}
	}
	credentials, err := s.files(access.Gateway).Read(t.Context())
	must(t, err)
	lists := map[string]any{
		"/api/v1/secrets": corev1.SecretList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			Items: []corev1.Secret{{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: access.Gateway.Secret(), ResourceVersion: "1"},
				Data:       map[string][]byte{"ca.crt": credentials.CA, "tls.crt": credentials.Cert, "tls.key": credentials.Key},
			}},
		},
		"/api/v1/namespaces": corev1.NamespaceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			Items: []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: namespace, ResourceVersion: "1",
				Labels: map[string]string{"gardener.cloud/role": "shoot"}}}},
		},
		"/api/v1/services": corev1.ServiceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			Items: []corev1.Service{service("etcd-main-client", guard, 2379),
				service("kube-apiserver", server, program.APIServerPort)},
		},
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("sendInitialEvents") == "true": // an old server, which has to be asked for lists
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			_ = json.NewEncoder(w).Encode(lists[r.URL.Path])
		}
	}))
	t.Cleanup(func() {
		s.kill(t)
		api.Close()
	})
	path := filepath.Join(s.dir, "seed.kubeconfig")
	must(t, os.WriteFile(path, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: x,
  contexts: [{name: x, context: {cluster: x}}],
  clusters: [{name: x, cluster: {server: %q}}]}`, api.URL), 0o600))
	return path
}
