package cloud

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// serve answers every request the same way and keeps the last one.
func serve(t *testing.T, status int, header http.Header, body string) (*Client, *http.Request) {
	t.Helper()
	last := &http.Request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = *r
		for key, values := range header {
			w.Header()[key] = values
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL + "/", BearerToken: "t"},
		Options{Scope: Scope{Shoot: "alpha", Epoch: 3}})
	if err != nil {
		t.Fatal(err)
	}
	return client, last
}

func TestCallsCarryIdentityAndScope(t *testing.T) {
	t.Parallel()
	client, last := serve(t, http.StatusOK, nil, `{"items":[]}`)
	for name, test := range map[string]struct {
		client      *Client
		ctx         context.Context
		shoot, epoc string
	}{
		"of the client":          {client, t.Context(), "alpha", "3"},
		"of the context":         {client, WithScope(t.Context(), Scope{Shoot: "beta", Epoch: 4}), "beta", "4"},
		"without epoch":          {client.WithScope(Scope{Shoot: "beta"}), t.Context(), "beta", ""},
		"none":                   {client.WithScope(Scope{}), t.Context(), "", ""},
		"none in the context":    {client, WithScope(t.Context(), Scope{}), "", ""},
		"the first is untouched": {client, t.Context(), "alpha", "3"},
	} {
		if _, err := test.client.Networks().List(test.ctx,
			Filter{Name: "a b", Tags: map[string]string{"k": "v&"}}); err != nil {
			t.Fatal(err)
		}
		if shoot, epoch := last.Header.Get("Transplant-Shoot"), last.Header.Get("Transplant-Epoch"); shoot != test.shoot ||
			epoch != test.epoc {
			t.Errorf("%s: headers say shoot %q epoch %q", name, shoot, epoch)
		}
		if got := last.Header.Get("Authorization"); got != "Bearer t" {
			t.Errorf("%s: authorization is %q", name, got)
		}
	}
	if got := last.URL.String(); got != "/networks?name=a+b&tag=k%3Dv%26" {
		t.Errorf("URL is %q", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		code   Code
		text   string
	}{
		"the cloud's": {403,
			`{"code":"QuotaExceeded","reason":"NetworkLimitExceeded","message":"too many","requestID":"r"}`, CodeQuotaExceeded,
			"NetworkLimitExceeded: too many, request id: r"},
		"a proxy's": {502, "Bad Gateway\n", "",
			`call the cloud: unexpected answer "502 Bad Gateway" to GET /networks/x: Bad Gateway` + "\n"},
		"another server's": {404, `{"kind":"Status","code":404}`, "",
			`call the cloud: unexpected answer "404 Not Found" to GET /networks/x: {"kind":"Status","code":404}`},
		"an unknown code": {400, `{"code":"Odd"}`, "",
			`call the cloud: unexpected answer "400 Bad Request" to GET /networks/x: {"code":"Odd"}`},
	} {
		client, _ := serve(t, test.status, nil, test.body)
		object, err := client.Networks().Get(t.Context(), "x")
		if object != nil || err == nil || CodeOf(err) != test.code || err.Error() != test.text {
			t.Errorf("%s: got %v and %v with code %q, want code %q and %q", name, object, err, CodeOf(err), test.code, test.text)
		}
	}
}

func TestEveryCodeHasAStatusOfAnError(t *testing.T) {
	t.Parallel()
	for code := range statusOf {
		if code.Status() < 400 {
			t.Errorf("%s has status %d", code, code.Status())
		}
	}
	if Code("Odd").Known() || Code("Odd").Status() != http.StatusInternalServerError {
		t.Error("an unknown code must be a server's error")
	}
}

func TestContentIsChecked(t *testing.T) {
	t.Parallel()
	const digest = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" // of foo
	header := http.Header{HeaderObject: {`{"key":"k","size":3,"digest":"` + digest + `"}`}}
	for content, code := range map[string]Code{"foo": "", "fox": CodeDamaged, "fo": CodeDamaged, "": CodeDamaged} {
		client, _ := serve(t, http.StatusOK, header, content)
		if _, err := client.Bucket("b").Read(t.Context(), "k"); CodeOf(err) != code {
			t.Errorf("content %q is read with %v, want code %q", content, err, code)
		}
	}
	client, _ := serve(t, http.StatusOK, nil, `{"key":"k","digest":"`+digest+`"}`)
	if _, err := client.Bucket("b").Put(t.Context(), "k", strings.NewReader("foo"), PutOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := client.Bucket("b").Put(t.Context(), "k", strings.NewReader("fox"),
		PutOptions{}); CodeOf(err) != CodeDamaged {
		t.Errorf("an upload stored with another digest ends with %v", err)
	}
}

func TestScopedTokens(t *testing.T) {
	t.Parallel()
	scope := Scope{Shoot: "shoot--p--alpha", Epoch: 7}
	token, got, err := SplitToken(ScopedToken("secret", scope))
	if token != "secret" || got != scope || err != nil {
		t.Errorf("split into %q, %v, %v", token, got, err)
	}
	if token, got, err := SplitToken("plain"); token != "plain" || got != (Scope{}) || err != nil {
		t.Errorf("split into %q, %v, %v", token, got, err)
	}
	for _, bad := range []string{"t~%", "t~" + "bm9uc2Vuc2U"} {
		if _, _, err := SplitToken(bad); err == nil {
			t.Errorf("token %q was accepted", bad)
		}
	}
}

func TestScopeHeaders(t *testing.T) {
	t.Parallel()
	for _, scope := range []Scope{{}, {Shoot: "a"}, {Shoot: "a", Epoch: 9}} {
		header := http.Header{}
		scope.SetHeaders(header)
		if got, err := ScopeFromHeaders(header); got != scope || err != nil {
			t.Errorf("%v becomes %v, %v", scope, got, err)
		}
	}
	for _, header := range []http.Header{{HeaderEpoch: {"1"}}, {HeaderShoot: {"a"}, HeaderEpoch: {"x"}},
		{HeaderShoot: {"a"}, HeaderEpoch: {"-1"}}} {
		if got, err := ScopeFromHeaders(header); err == nil {
			t.Errorf("%v was read as %v", header, got)
		}
	}
}

func TestNodeUserData(t *testing.T) {
	t.Parallel()
	data := NodeUserData{
		Shoot: "shoot--p--alpha", Server: "https://api.alpha.p.shoots.transplant.test:9443", CAData: []byte("pem"),
		Token:  "t",
		Taints: []Taint{{Key: "k", Effect: "NoSchedule"}}, Files: []File{{Path: "/a", Content: []byte{0, 255}}},
		Units: []Unit{{Name: "u"}},
	}
	text, err := data.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseNodeUserData(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&data, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []NodeUserData{{}, {Shoot: "s", Token: "t", Server: "http://x"}, {Shoot: "s", Server: data.Server},
		{Token: "t", Server: data.Server}} {
		if _, err := bad.Marshal(); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	if _, err := ParseNodeUserData("#!/bin/sh"); err == nil {
		t.Error("a script was accepted")
	}
}

func TestKubeconfigs(t *testing.T) {
	t.Parallel()
	if _, err := FromKubeconfig([]byte("nonsense"), Options{}); err == nil || !strings.HasPrefix(err.Error(),
		"parse the cloud's kubeconfig: ") {
		t.Errorf("nonsense is read with %v", err)
	}
	if _, err := FromKubeconfigFile("/nonexistent", Options{}); err == nil || !strings.HasPrefix(err.Error(),
		`read the cloud's kubeconfig "/nonexistent": `) {
		t.Errorf("a missing file is read with %v", err)
	}
	if _, err := New(&rest.Config{Host: "/no/host"}, Options{}); err == nil {
		t.Error("an address without host was accepted")
	}
}
