package nodes

import (
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// TestRenewAgents: the agent of each node that has its machine says that it runs, four times as often as it must, and
// again at once for a node that is another; that of no other node does.
func TestRenewAgents(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	clock := testingclock.NewFakeClock(noon)
	client := fake.NewClientset()
	s := &shoot{client: client, clock: clock, log: logr.Discard(), options: Options{LeaseSeconds: 40}}
	machines := []*machine{
		{Machine: cloud.Machine{Meta: cloud.Meta{ID: "m-1"}, Hostname: "node-1"}, data: &cloud.NodeUserData{}},
		{Machine: cloud.Machine{Meta: cloud.Meta{ID: "m-2"}, Hostname: "node-2"}, data: &cloud.NodeUserData{}},
		{Machine: cloud.Machine{Meta: cloud.Meta{ID: "m-3"}, Hostname: "node-3"}, data: &cloud.NodeUserData{}},
	}
	nodes := map[string]*corev1.Node{
		"node-1": {ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "1"},
			Spec: corev1.NodeSpec{ProviderID: "transplant:///m-1"}},
		"node-2": {ObjectMeta: metav1.ObjectMeta{Name: "node-2", UID: "2"},
			Spec: corev1.NodeSpec{ProviderID: "transplant:///another"}},
		"no-longer": {ObjectMeta: metav1.ObjectMeta{Name: "no-longer", UID: "4"},
			Spec: corev1.NodeSpec{ProviderID: "transplant:///m-4"}},
	}
	expect := func(renewed time.Time, owner types.UID) {
		t.Helper()
		if err := s.renewAgents(t.Context(), machines, nodes); err != nil {
			t.Fatal(err)
		}
		leases, err := client.CoordinationV1().Leases(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(leases.Items) != 1 {
			t.Fatalf("leases %v: %v", leases.Items, err)
		}
		got := leases.Items[0]
		spec := coordinationv1.LeaseSpec{HolderIdentity: ptr.To("node-1"), LeaseDurationSeconds: ptr.To[int32](40),
			RenewTime: &metav1.MicroTime{Time: renewed}}
		owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node-1", UID: owner}}
		if diff := cmp.Diff(spec, got.Spec) + cmp.Diff(owners, got.OwnerReferences); diff != "" ||
			got.Namespace != "kube-system" || got.Name != "gardener-node-agent-node-1" {
			t.Errorf("%s/%s at %s (-want +got):\n%s", got.Namespace, got.Name, clock.Now().Format(time.TimeOnly), diff)
		}
	}
	expect(noon, "1")
	clock.Step(9 * time.Second)
	expect(noon, "1")
	clock.Step(time.Second)
	expect(noon.Add(10*time.Second), "1")
	clock.Step(time.Second)
	nodes["node-1"].UID = "5"
	expect(noon.Add(11*time.Second), "5")
}

// A Node that is there shows where its kubelet is reached now: nodes outlive the program that answers for them.
func TestRefresh_KubeletElsewhere_MovesTheAddress(t *testing.T) {
	t.Parallel()
	m := &machine{Machine: cloud.Machine{Meta: cloud.Meta{ID: "m-1"}, Hostname: "node-1", PrivateIP: "10.0.0.7"},
		data: &cloud.NodeUserData{}}
	for name, c := range map[string]struct {
		was, now string
		hostname string
		port     int32
		patches  int
	}{
		"same":              {"127.0.0.1:10250", "127.0.0.1:10250", "127.0.0.1", 10250, 0},
		"other address":     {"127.0.0.1:10250", "172.18.0.4:10250", "172.18.0.4", 10250, 1},
		"other port":        {"127.0.0.1:10250", "127.0.0.1:10251", "127.0.0.1", 10251, 1},
		"before it had one": {"", "127.0.0.1:10250", "127.0.0.1", 10250, 1},
		"none any more":     {"127.0.0.1:10250", "", "127.0.0.1", 10250, 0},
	} {
		node, err := m.node()
		if err != nil {
			t.Fatal(err)
		}
		at := func(address string) netip.AddrPort {
			parsed, _ := netip.ParseAddrPort(address) // none of "", which is nowhere
			return parsed
		}
		answeredAt(node, at(c.was))
		client := fake.NewClientset(node)
		s := &shoot{client: client, log: logr.Discard(), options: Options{Kubelet: at(c.now)}, laidOut: map[string]string{}}
		if err := s.refresh(t.Context(), m, node); err != nil {
			t.Fatal(err)
		}
		got, err := client.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.7"},
			{Type: corev1.NodeHostName, Address: c.hostname}}
		if diff := cmp.Diff(want, got.Status.Addresses); diff != "" ||
			got.Status.DaemonEndpoints.KubeletEndpoint.Port != c.port || len(client.Actions()) != c.patches+1 {
			t.Errorf("%s: port %d after %d calls (-want +got):\n%s", name, got.Status.DaemonEndpoints.KubeletEndpoint.Port,
				len(client.Actions()), diff)
		}
	}
}

// TestFreeLeases: before kwok is started, the leases of nodes that live are renewed and have no holder; those of others
// have none either, but are not renewed. Nothing is renewed for a kwok that has ended on its own, nor again for one
// that could not be started.
func TestFreeLeases(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	leases := func(client *fake.Clientset) map[string]*coordinationv1.Lease {
		list, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]*coordinationv1.Lease{}
		for i := range list.Items {
			there[list.Items[i].Name] = &list.Items[i]
		}
		return there
	}
	living := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "unmanaged"}}}
	for _, name := range []string{"lives", "free", "has none yet"} {
		living = append(living,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managedLabel: managedValue}}})
	}
	for name, c := range map[string]struct {
		kwok    *kwok
		revived int
		renewed bool
	}{
		"the first kwok":                {kwok: &kwok{}, renewed: true},
		"one that we have ended":        {kwok: &kwok{starts: 3}, revived: 3, renewed: true},
		"one that could not be started": {kwok: &kwok{starts: 3}, revived: 4},
		"one that has ended on its own": {kwok: &kwok{starts: 3, process: &process.Process{}}, revived: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, client := testingclock.NewFakeClock(noon), fake.NewClientset()
			long := metav1.NewMicroTime(noon.Add(-time.Hour))
			for name, holder := range map[string]*string{"lives": ptr.To("kwok"), "free": nil, "dead": ptr.To("kwok"),
				"unmanaged": ptr.To("kwok")} {
				lease := &coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name},
					Spec: coordinationv1.LeaseSpec{HolderIdentity: holder, LeaseDurationSeconds: ptr.To[int32](40),
						RenewTime: &long},
				}
				if _, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), lease,
					metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			listed := leases(client)
			listed["gone"] = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("kwok")}} // since then
			s := &shoot{client: client, clock: clock, log: logr.Discard(), kwok: c.kwok, revived: c.revived}
			want := map[string]time.Time{"lives": long.Time, "free": long.Time, "dead": long.Time, "unmanaged": long.Time}
			if c.renewed {
				want["lives"], want["free"] = noon, noon
			}
			for range 2 { // the second time it could not be started
				if err := s.freeLeases(t.Context(), living, listed); err != nil {
					t.Fatal(err)
				}
				clock.Step(time.Second)
			}
			got := map[string]time.Time{}
			for name, lease := range leases(client) {
				if lease.Spec.HolderIdentity != nil || *lease.Spec.LeaseDurationSeconds != 40 {
					t.Errorf("the lease of %s: %+v", name, lease.Spec)
				}
				got[name] = lease.Spec.RenewTime.Time
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("renewals (-want +got):\n%s", diff)
			}
		})
	}
}
