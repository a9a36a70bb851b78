package tap_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8sjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/contract/tap"
)

const namespace = "shoot--p--x"

// through sends a request through the tap to a server that answers with the status and an object. It says whether the
// request was broken off.
func through(t *testing.T, fault requests.Fault, r *http.Request, status int) (abortedRequest bool) {
	t.Helper()
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, err := io.ReadAll(r.Body); err != nil || r.Method == http.MethodPost && len(content) == 0 {
			t.Errorf("the server reads %q, %v", content, err)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"metadata":{"annotations":{"gardener.cloud/operation":"migrate"}}}`))
	})
	q := kubeapi.Describe(r)
	answer := httptest.NewRecorder()
	defer func() {
		if err, is := recover().(error); is {
			if abortedRequest = errors.Is(err, http.ErrAbortHandler); !abortedRequest {
				panic(err)
			}
		}
	}()
	active := &requests.Active{Effect: fault.Start(), Injection: requests.NewHits(requests.Turn{}, nil),
		Hits: &atomic.Int64{}, Errors: &atomic.Int64{}, Over: make(chan struct{})}
	requests.Serve([]*requests.Active{active}, &requests.Exchange{W: answer, R: r, Request: &q, Bare: server}, server)
	if answer.Code != status || answer.Body.Len() == 0 {
		t.Errorf("the client gets %d %q", answer.Code, answer.Body)
	}
	return false
}

func request(method, path, body string) *http.Request {
	return httptest.NewRequest(method, path, strings.NewReader(body))
}

const object = "/apis/extensions.gardener.cloud/v1alpha1/namespaces/" + namespace + "/networks/contract"

func TestTap_Writes_AreKeptInOrder(t *testing.T) {
	t.Parallel()
	on := tap.New()
	on.Watch(namespace, "networks", "")
	api, cloud := tap.ToAPI{Tap: on}, tap.ToCloud{Tap: on}
	through(t, api, request(http.MethodGet, object, ""), http.StatusOK)
	through(t, api, request(http.MethodPatch, object+"/status", "{}"), http.StatusOK)
	through(t, api, request(http.MethodPost, "/api/v1/namespaces/"+namespace+"/secrets",
		`{"metadata":{"name":"s"}}`), http.StatusCreated)
	through(t, api, request(http.MethodPost, "/api/v1/namespaces/"+namespace+"/events", `{}`), http.StatusCreated)
	through(t, api, request(http.MethodDelete, "/apis/apps/v1/namespaces/"+namespace+"/deployments/d", ""),
		http.StatusNotFound)
	through(t, api, request(http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterroles", "{}"), http.StatusCreated)
	through(t, api, request(http.MethodPost, "/api/v1/namespaces/other/secrets", `{}`), http.StatusCreated)
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		r := request(method, "/networks/n1", "{}")
		r.Header.Set("Transplant-Shoot", namespace)
		through(t, cloud, r, http.StatusOK)
	}
	writes, toCloud := on.Since(namespace, 0)
	var all []string
	for _, w := range writes {
		all = append(all, w.String())
	}
	want := "patch networks.extensions.gardener.cloud/contract/status; create secrets; " +
		"delete deployments.apps/d; put /networks/n1 in the cloud"
	if got := strings.Join(all, "; "); got != want || toCloud != 2 {
		t.Errorf("%d requests to the cloud, and the writes\n%s, want\n%s", toCloud, got, want)
	}
	if first := writes[0]; !first.Own || !first.Took || first.After == nil || first.After.Operation != "migrate" {
		t.Errorf("the write to the object is %+v", first)
	}
	if writes[1].Own || !writes[1].Took || writes[2].Took {
		t.Errorf("the other writes are %+v", writes[1:])
	}
	if later, _ := on.Since(namespace, 3); len(later) != 1 {
		t.Errorf("after the third there are %d", len(later))
	}
}

func TestTap_Limit_RefusesFurtherWrites(t *testing.T) {
	t.Parallel()
	on := tap.New()
	on.Watch(namespace, "networks", "")
	on.Watch("other", "networks", "")
	gate := on.Limit(namespace, 1)
	write := func() bool {
		return through(t, tap.ToAPI{Tap: on}, request(http.MethodPatch, object, "{}"), http.StatusOK)
	}
	inCloud := func(shoot string) bool {
		r := request(http.MethodDelete, "/networks/n1", "")
		r.Header.Set("Transplant-Shoot", shoot)
		return through(t, tap.ToCloud{Tap: on}, r, http.StatusOK)
	}
	if write() || !inCloud(namespace) || !write() || inCloud("other") {
		t.Error("want one write of the namespace to pass, and all of others")
	}
	if through(t, tap.ToAPI{Tap: on}, request(http.MethodGet, object, ""), http.StatusOK) {
		t.Error("a read is refused")
	}
	if passed, refused := gate.Counts(); passed != 1 || refused != 2 {
		t.Errorf("%d passed and %d were refused, want 1 and 2", passed, refused)
	}
	if on.Open(); write() {
		t.Error("a write is refused after the limit")
	}
}

// The limit is of writes that were carried out: one that has failed leaves its place to the next.
func TestTap_Limit_DoesNotCountFailedWrites(t *testing.T) {
	t.Parallel()
	on := tap.New()
	on.Watch(namespace, "networks", "")
	gate := on.Limit(namespace, 1)
	for i, status := range []int{http.StatusConflict, http.StatusOK, http.StatusOK} {
		aborted := through(t, tap.ToAPI{Tap: on}, request(http.MethodPatch, object, "{}"), status)
		if want := i == 2; aborted != want {
			t.Errorf("write %d is refused: %t, want %t", i, aborted, want)
		}
	}
	if passed, refused := gate.Counts(); passed != 1 || refused != 1 {
		t.Errorf("%d passed and %d were refused, want one of each", passed, refused)
	}
}

// Of a Secret the tap keeps the finalizers and a digest of all else, in whatever form the client asks for it.
func TestTap_Secret_HasFinalizersAndDigest(t *testing.T) {
	t.Parallel()
	secret := func(version, value string, finalizers ...string) *corev1.Secret {
		return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: version, Finalizers: finalizers},
			Data:       map[string][]byte{"key": []byte(value)}}
	}
	var digests []string
	for name, serializer := range map[string]runtime.Encoder{
		"JSON": k8sjson.NewSerializerWithOptions(k8sjson.DefaultMetaFactory, clientgoscheme.Scheme, clientgoscheme.Scheme,
			k8sjson.SerializerOptions{}),
		"protobuf": protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme),
	} {
		on := tap.New()
		on.Watch(namespace, "networks", "")
		for _, answer := range []runtime.Object{secret("1", "a", "f"), secret("2", "a"), secret("3", "b"),
			&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Success"}} {
			content, err := runtime.Encode(serializer, answer)
			if err != nil {
				t.Fatal(err)
			}
			r := request(http.MethodPost, "/api/v1/namespaces/"+namespace+"/secrets", "{}")
			q := kubeapi.Describe(r)
			tap.ToAPI{Tap: on}.Start().Serve(nil, &requests.Exchange{W: httptest.NewRecorder(), R: r, Request: &q},
				func(x *requests.Exchange) { _, _ = x.W.Write(content) })
		}
		writes, _ := on.Since(namespace, 0)
		with, without, changed, status := writes[0], writes[1], writes[2], writes[3]
		if with.Name != "s" || len(with.After.Finalizers) != 1 || len(without.After.Finalizers) != 0 ||
			with.Content != without.Content || with.Content == "" || changed.Content == with.Content ||
			status.After != nil || status.Content != "" {
			t.Errorf("%s: %+v", name, writes)
		}
		digests = append(digests, with.Content)
	}
	if digests[0] != digests[1] {
		t.Errorf("the digests are %q", digests)
	}
}
