package ownership_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	simcloud "github.com/transplant-sim/transplant/sim/cloud"
)

// authorityContract is what every authority must do.
func authorityContract(t *testing.T, authority ownership.Authority) {
	t.Helper()
	ctx := t.Context()
	first, second := at(1), ownership.Record{Owner: "uid-c", Epoch: 2, Seed: "c"}
	record, absent, err := authority.Read(ctx)
	if err != nil || !record.Absent() || absent != "" {
		t.Fatalf("at first: %v, version %q: %v", record, absent, err)
	}
	if err := authority.CompareAndSet(ctx, absent, first); err != nil {
		t.Fatalf("create: %v", err)
	}
	if err := authority.CompareAndSet(ctx, absent, second); !errors.Is(err, ownership.ErrConflict) {
		t.Errorf("a second create: %v", err)
	}
	record, version, err := authority.Read(ctx)
	if err != nil || record != first || version == "" {
		t.Fatalf("after create: %v, version %q: %v", record, version, err)
	}
	if err := authority.CompareAndSet(ctx, version, second); err != nil {
		t.Fatalf("update: %v", err)
	}
	if err := authority.CompareAndSet(ctx, version, first); !errors.Is(err, ownership.ErrConflict) {
		t.Errorf("an update of an old version: %v", err)
	}
	if record, _, err = authority.Read(ctx); err != nil || record != second {
		t.Errorf("in the end: %v: %v", record, err)
	}
}

func TestFakeAuthorityKeepsTheContract(t *testing.T) {
	t.Parallel()
	authorityContract(t, &ownershiptest.Authority{})
}

func TestLeaseAuthorityOnARealAPIServer(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	leases := client.CoordinationV1().Leases("default")
	authorityContract(t, &ownership.LeaseAuthority{Leases: leases, Name: "owner.alpha"})

	lease, err := leases.Get(t.Context(), "owner.alpha", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"transplant.dev/epoch": "2", "transplant.dev/seed": "c"}
	if diff := cmp.Diff(want, lease.Annotations); diff != "" || *lease.Spec.HolderIdentity != "uid-c" {
		t.Errorf("the holder of the lease is %q, with annotations\n%s", *lease.Spec.HolderIdentity, diff)
	}

	t.Run("deleted and made anew is another lease", func(t *testing.T) {
		authority := &ownership.LeaseAuthority{Leases: leases, Name: "owner.beta"}
		if err := authority.CompareAndSet(t.Context(), "", at(1)); err != nil {
			t.Fatal(err)
		}
		_, version, err := authority.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := leases.Delete(t.Context(), "owner.beta", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := authority.CompareAndSet(t.Context(), version, at(2)); !errors.Is(err, ownership.ErrConflict) {
			t.Errorf("a write to a lease that is gone: %v", err)
		}
		if err := authority.CompareAndSet(t.Context(), "", at(1)); err != nil {
			t.Fatal(err)
		}
		if err := authority.CompareAndSet(t.Context(), version, at(2)); !errors.Is(err, ownership.ErrConflict) {
			t.Errorf("a write to the lease before: %v", err)
		}
	})
	t.Run("a lease without a number is unreadable", func(t *testing.T) {
		holder := "uid-a"
		_, err := leases.Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "owner.invalid"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		authority := &ownership.LeaseAuthority{Leases: leases, Name: "owner.invalid"}
		if record, _, err := authority.Read(t.Context()); err == nil || !strings.Contains(err.Error(),
			"transplant.dev/epoch") {
			t.Errorf("read %v: %v", record, err)
		}
	})
}

// dns answers as the cloud does, for zones and TXT records.
type dns struct {
	mu      sync.Mutex
	version int64
	values  []string
}

func (d *dns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	refuse := func(code cloud.Code) {
		w.WriteHeader(code.Status())
		_ = json.NewEncoder(w).Encode(&cloud.Error{Code: code, Reason: string(code), Message: "refused"})
	}
	switch {
	case r.URL.Path == "/zones":
		_ = json.NewEncoder(w).Encode(map[string]any{"items": []cloud.Zone{
			{Meta: cloud.Meta{ID: "far"}, Name: "test"}, {Meta: cloud.Meta{ID: "near"}, Name: "shoots.transplant.test"},
			{Meta: cloud.Meta{ID: "other"}, Name: "x.test"},
		}})
		return
	case r.URL.Path != "/zones/near/records/TXT/owner.alpha.p.shoots.transplant.test":
		refuse(cloud.CodeNotFound)
		return
	}
	if r.Method == http.MethodPut {
		if r.URL.Query().Get("ifAbsent") == "true" && d.version != 0 {
			refuse(cloud.CodeAlreadyExists)
			return
		}
		if want := r.URL.Query().Get("ifVersion"); want != "" && want != jsonNumber(d.version) {
			refuse(cloud.CodeConflict)
			return
		}
		var set cloud.RecordSet
		if err := json.NewDecoder(r.Body).Decode(&set); err != nil {
			refuse(cloud.CodeInvalid)
			return
		}
		d.values = set.Values
		d.version++
	}
	if d.version == 0 {
		refuse(cloud.CodeNotFound)
		return
	}
	if r.Method == http.MethodDelete {
		d.version, d.values = 0, nil
		_, _ = w.Write([]byte("{}"))
		return
	}
	_ = json.NewEncoder(w).Encode(&cloud.RecordSet{Meta: cloud.Meta{Version: d.version},
		Name: "owner.alpha.p.shoots.transplant.test", Type: "TXT", Values: d.values})
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func newTXT(t *testing.T, d *dns, name string) *ownership.TXTAuthority {
	t.Helper()
	return &ownership.TXTAuthority{Records: newCloudTXT(t, d), Name: name}
}

func newCloudTXT(t *testing.T, d *dns) *ownership.CloudTXT {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	client, err := cloud.New(&rest.Config{Host: server.URL}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &ownership.CloudTXT{Client: client}
}

func TestTXTAuthorityThroughTheCloud(t *testing.T) {
	t.Parallel()
	d := &dns{}
	authorityContract(t, newTXT(t, d, "owner.alpha.p.shoots.transplant.test"))
	if diff := cmp.Diff([]string{"owner=uid-c epoch=2 seed=c"}, d.values); diff != "" {
		t.Error(diff)
	}
}

func TestTXTAuthorityOnARunningCloud(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.yaml")
	if err := os.WriteFile(tokens, []byte(`tokens: [{token: t, identity: control-planes-a, roles: [admin]}]`),
		0o600); err != nil {
		t.Fatal(err)
	}
	server, err := simcloud.Open(t.Context(), simcloud.Options{Dir: filepath.Join(dir, "cloud"), Tokens: tokens,
		Log: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(server.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := cloud.New(&rest.Config{Host: web.URL, BearerToken: "t",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Zones().Create(t.Context(), &cloud.Zone{Name: "shoots.transplant.test"}); err != nil {
		t.Fatal(err)
	}
	authorityContract(t, &ownership.TXTAuthority{Records: &ownership.CloudTXT{Client: client},
		Name: "owner.alpha.p.shoots.transplant.test"})
}

func TestTXTAuthorityRefusesWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"positive epoch are needed": {"owner=uid-a"},
		"parse the epoch":           {"owner=uid-a epoch=first seed=a"},
		"2 values":                  {"owner=uid-a epoch=1 seed=a", "owner=uid-b epoch=2 seed=b"},
	} {
		authority := newTXT(t, &dns{version: 1, values: values}, "owner.alpha.p.shoots.transplant.test")
		if _, _, err := authority.Read(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", values, err)
		}
	}
	foreign := newTXT(t, &dns{}, "owner.alpha.example.org")
	if _, _, err := foreign.Read(context.Background()); err == nil || !strings.Contains(err.Error(),
		"find the DNS zone") {
		t.Errorf("a name in no zone: %v", err)
	}
}
