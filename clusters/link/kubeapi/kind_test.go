package kubeapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		want         Kind
	}{
		{http.MethodGet, "/api/v1/namespaces/a/secrets/s", Kind{"get", "secrets"}},
		{http.MethodGet, "/api/v1/secrets?watch=1", Kind{"watch", "secrets"}},
		{http.MethodGet, "/apis/core.gardener.cloud/v1beta1/shoots", Kind{"list", "shoots.core.gardener.cloud"}},
		{http.MethodPatch, "/apis/core.gardener.cloud/v1beta1/namespaces/p/shoots/s/status",
			Kind{"patch", "shoots.core.gardener.cloud/status"}},
		{http.MethodGet, "/apis", Kind{"get", "discovery"}},
		{http.MethodGet, "/apis/apps/v1", Kind{"get", "discovery"}},
		{http.MethodGet, "/openapi/v3", Kind{"get", "discovery"}},
		{http.MethodGet, "/healthz", Kind{"get", "healthz"}},
		{http.MethodGet, "/machines", Kind{"get", "machines"}},
		{http.MethodDelete, "/machines/m", Kind{"delete", "machines"}},
		{http.MethodPost, "/machines/m/reboot", Kind{"post", "machines/reboot"}},
		{http.MethodPut, "/buckets/b/objects/shoot/one/two", Kind{"put", "buckets/objects"}},
		{http.MethodGet, "/zones/z/records/TXT/owner", Kind{"get", "zones/records"}},
	} {
		q := Describe(httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
		if kind := q.Kind(); kind != c.want {
			t.Errorf("%s %s is %+v; want %+v", c.method, c.path, kind, c.want)
		}
	}
}
