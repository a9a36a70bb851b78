package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const ownGateway = "istio-ingress"

// gateways: where a seed has a gateway for an exposure class, or for its zones, a shoot's name leads there, and a
// client is led to the shoot from there as from the seed's own (docs/specification/nodes-and-seeds.md#spec-7-4). In the
// end all is as before.
func (l *landscape) gateways(t *testing.T) {
	own := l.endpoint(t, "a")
	record := func(want ...string) {
		t.Helper()
		slices.Sort(want)
		var seen []string
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
			if seen = l.addresses(t, "a"); slices.Equal(seen, want) {
				return
			}
		}
		t.Fatalf("the shoot's name has the addresses %v, want %v", seen, want)
	}
	shoot := func(patch string) {
		t.Helper()
		l.on(t, "garden", "patch", "shoot", "-n", "garden-p", "alpha", "--type=merge", "-p", patch)
	}
	const again = `{"metadata":{"annotations":{"gardener.cloud/operation":"reconcile"}}}`
	for name, c := range map[string]struct {
		namespaces   []string
		choose, undo func()
	}{
		"of an exposure class": {
			namespaces: []string{ownGateway + "-handler-internal"},
			choose:     func() { shoot(`{"spec":{"exposureClassName":"internal"}}`) },
			undo:       func() { shoot(`{"spec":{"exposureClassName":null}}`) },
		},
		"of zones, an address for each": {
			namespaces: []string{ownGateway + "--here-1", ownGateway + "--here-2"},
			choose: func() {
				l.on(t, "garden", "patch", "seed", "a", "--type=merge", "-p", `{"spec":{"provider":{"zones":["here-1","here-2"]}}}`)
				shoot(again)
			},
			undo: func() {
				l.on(t, "garden", "patch", "seed", "a", "--type=merge", "-p", `{"spec":{"provider":{"zones":null}}}`)
				shoot(again)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var further []endpoint
			var addresses []string
			for _, namespace := range c.namespaces {
				one := own
				one.address = l.furtherGateway(t, namespace)
				if one.address == own.address || slices.Contains(addresses, one.address) {
					t.Fatalf("the gateway in %s has the address of another, %s", namespace, one.address)
				}
				further, addresses = append(further, one), append(addresses, one.address)
			}
			c.choose()
			record(addresses...)
			for _, one := range further {
				one.asks(t, one.dial(t, "9443"), one.name)
			}
			own.asks(t, own.dial(t, "9443"), own.name) // who has the old address still finds the shoot
			c.undo()
			record(own.address)
			for _, namespace := range c.namespaces {
				l.on(t, "a", "delete", "namespace", namespace, "--wait=false")
			}
		})
	}
	l.await(t, "Reconcile/Succeeded a")
}

// furtherGateway runs another gateway on seed a, as its own one is, and returns its address.
func (l *landscape) furtherGateway(t *testing.T, namespace string) string {
	t.Helper()
	l.on(t, "a", "create", "namespace", namespace)
	for _, object := range []string{"secret/kubeconfig-seed", "service/istio-ingressgateway",
		"deployment/istio-ingressgateway"} {
		copied := map[string]any{}
		if err := json.Unmarshal([]byte(l.on(t, "a", "get", object, "-n", ownGateway, "-o", "json")), &copied); err != nil {
			t.Fatal(err)
		}
		metadata, _ := copied["metadata"].(map[string]any)
		copied["metadata"] = map[string]any{"name": metadata["name"], "namespace": namespace}
		delete(copied, "status")
		if spec, is := copied["spec"].(map[string]any); is {
			for _, given := range []string{"clusterIP", "clusterIPs"} {
				delete(spec, given)
			}
		}
		content, err := json.Marshal(copied)
		if err != nil {
			t.Fatal(err)
		}
		if said, err := l.try(t, content, l.kubectl, "kubectl", "--kubeconfig", l.kubeconfig(t, "a"), "create", "-f",
			"-"); err != nil {
			t.Fatalf("copy %s: %v\n%s", object, err, said)
		}
	}
	l.on(t, "a", "rollout", "status", "-n", namespace, "deployment/istio-ingressgateway", "--timeout=60s")
	address := ""
	for deadline := time.Now().Add(time.Minute); address == "" &&
		time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		address = strings.TrimSpace(l.on(t, "a", "get", "service", "-n", namespace, "istio-ingressgateway", "-o",
			"jsonpath={.status.loadBalancer.ingress[0].ip}"))
	}
	if address == "" {
		t.Fatal("the gateway has no address")
	}
	return address
}

// addresses are those that the shoot's name has, as its seed wants it.
func (l *landscape) addresses(t *testing.T, seed string) []string {
	t.Helper()
	values := l.on(t, seed, "get", "dnsrecords.extensions.gardener.cloud", "-n", alphaNamespace, "-o",
		fmt.Sprintf(`jsonpath={.items[?(@.spec.name==%q)].spec.values}`, alphaName))
	addresses := []string{}
	if err := json.Unmarshal([]byte(values), &addresses); err != nil || len(addresses) == 0 {
		t.Fatalf("the shoot's name has the addresses %q (%v)", values, err)
	}
	return addresses
}
