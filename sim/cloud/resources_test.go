package cloud

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	api "github.com/transplant-sim/transplant/api/cloud"
)

func TestCreatingTwiceMakesTwo(t *testing.T) {
	t.Parallel()
	client := start(t, Options{}).as(t, "extensions-a")
	spec := api.Network{CIDR: "10.0.0.0/16", Tags: map[string]string{"shoot": "alpha"}}
	first := must(client.Networks().Create(t.Context(), &spec))(t)
	second := must(client.Networks().Create(t.Context(), &spec))(t)
	if first.ID == second.ID || !strings.HasPrefix(first.ID, "net-") {
		t.Errorf("ids are %q and %q, want two random ones", first.ID, second.ID)
	}
	found := must(client.Networks().List(t.Context(), api.Filter{Tags: map[string]string{"shoot": "alpha"}}))(t)
	if len(found) != 2 {
		t.Errorf("found %d networks by tag, want 2", len(found))
	}
	if other := must(client.Networks().List(t.Context(), api.Filter{Tags: map[string]string{"shoot": "beta"}}))(t); len(
		other) != 0 {
		t.Errorf("found %v by a tag that none has", other)
	}
}

func TestClientTokenMakesOne(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client := cloud.as(t, "extensions-a")
	network := must(client.Networks().Create(t.Context(), &api.Network{CIDR: "10.0.0.0/16"}))(t)
	router := api.Router{NetworkID: network.ID}
	first := must(client.Routers().Create(t.Context(), &router, api.ClientToken("x")))(t)
	second := must(client.Routers().Create(t.Context(), &router, api.ClientToken("x")))(t)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the replay differs: %s", diff)
	}
	entries := cloud.ledgerOf(t)
	if last := entries[len(entries)-1]; last.Outcome != api.OutcomeReplayed || last.ID != first.ID {
		t.Errorf("the ledger ends with %+v, want a replay", last)
	}
	other := must(cloud.as(t, "extensions-b").Routers().Create(t.Context(), &router, api.ClientToken("x")))(t)
	if other.ID == first.ID {
		t.Error("another identity's token found this one's object")
	}
	_, err := client.Routers().Create(t.Context(), &api.Router{NetworkID: "net-other"}, api.ClientToken("x"))
	wantCode(t, err, api.CodeConflict)
	if err := client.Routers().Delete(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	_, err = client.Routers().Create(t.Context(), &router, api.ClientToken("x"))
	wantCode(t, err, api.CodeConflict)
}

func TestOnlyTheirIDsFindRoutersAndSecurityGroups(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client := cloud.as(t, "extensions-a")
	network := must(client.Networks().Create(t.Context(), &api.Network{CIDR: "10.0.0.0/16"}))(t)
	router := must(client.Routers().Create(t.Context(), &api.Router{NetworkID: network.ID}))(t)
	group := must(client.SecurityGroups().Create(t.Context(), &api.SecurityGroup{NetworkID: network.ID}))(t)
	_, err := client.Routers().List(t.Context(), api.Filter{})
	wantCode(t, err, api.CodeUnauthorized)
	_, err = client.SecurityGroups().List(t.Context(), api.Filter{})
	wantCode(t, err, api.CodeUnauthorized)
	if got := must(client.Routers().Get(t.Context(), router.ID))(t); got.ExternalIP == "" ||
		got.ExternalIP != router.ExternalIP {
		t.Errorf("router has address %q, then %q", router.ExternalIP, got.ExternalIP)
	}
	if listed := must(cloud.as(t, "observer").SecurityGroups().List(t.Context(), api.Filter{}))(t); len(listed) != 1 ||
		listed[0].ID != group.ID {
		t.Errorf("an observer lists %v, want the one group", listed)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	network := must(client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	subnet := must(client.Subnets().Create(ctx, &api.Subnet{NetworkID: network.ID, CIDR: "10.0.1.0/24", Zone: "z1"}))(t)
	group := must(client.SecurityGroups().Create(ctx, &api.SecurityGroup{NetworkID: network.ID}))(t)
	machine := must(client.Machines().Create(ctx, &api.Machine{Type: "small", Zone: "z1", SubnetID: subnet.ID,
		SecurityGroupIDs: []string{group.ID}}))(t)
	volume := must(client.Volumes().Create(ctx, &api.Volume{Size: "10Gi", Zone: "z1", MachineID: machine.ID}))(t)
	must(client.KeyPairs().Create(ctx, &api.KeyPair{Name: "k", PublicKey: "ssh-ed25519 AAAA"}))(t)
	zone := must(client.Zones().Create(ctx, &api.Zone{Name: "example.test"}))(t)
	must(client.Records(zone.ID).Put(ctx, &api.RecordSet{Name: "a.example.test", Type: "A", TTL: 1,
		Values: []string{"127.0.0.9"}}, api.If{}))(t)
	must(client.Buckets().Create(ctx, &api.Bucket{Name: "backups"}))(t)
	must(client.Bucket("backups").Put(ctx, "k", strings.NewReader("v"), api.PutOptions{}))(t)

	create := func(m api.Machine) error { _, err := client.Machines().Create(ctx, &m); return err }
	put := func(set api.RecordSet) error { _, err := client.Records(zone.ID).Put(ctx, &set, api.If{}); return err }
	for name, test := range map[string]struct {
		err    error
		code   api.Code
		reason string
	}{
		"network in use": {client.Networks().Delete(ctx, network.ID), api.CodeDependencyViolation,
			"DependencyViolation"},
		"subnet in use": {client.Subnets().Delete(ctx, subnet.ID), api.CodeDependencyViolation,
			"DependencyViolation"},
		"group in use": {client.SecurityGroups().Delete(ctx, group.ID), api.CodeDependencyViolation,
			"DependencyViolation"},
		"volume in use":    {client.Volumes().Delete(ctx, volume.ID), api.CodeDependencyViolation, "VolumeInUse"},
		"zone not empty":   {client.Zones().Delete(ctx, zone.ID), api.CodeDependencyViolation, "HostedZoneNotEmpty"},
		"bucket not empty": {client.Buckets().Delete(ctx, "backups"), api.CodeDependencyViolation, "BucketNotEmpty"},
		"network gone":     {client.Networks().Delete(ctx, "net-1"), api.CodeNotFound, "InvalidNetworkID.NotFound"},
		"group unknown": {create(api.Machine{Type: "small", SecurityGroupIDs: []string{"sg-1"}}), api.CodeNotFound,
			"InvalidSecurityGroupID.NotFound"},
		"subnet unknown": {create(api.Machine{Type: "small", SubnetID: "subnet-1"}), api.CodeNotFound,
			"InvalidSubnetID.NotFound"},
		"machine without type": {create(api.Machine{}), api.CodeInvalid, "InvalidParameterValue"},
		"key pair name taken": {errOf(client.KeyPairs().Create(ctx, &api.KeyPair{Name: "k", PublicKey: "x"})),
			api.CodeAlreadyExists, "InvalidKeyPair.Duplicate"},
		"zone name taken": {errOf(client.Zones().Create(ctx, &api.Zone{Name: "Example.test."})), api.CodeAlreadyExists,
			"InvalidZone.Duplicate"},
		"bucket name taken": {errOf(client.Buckets().Create(ctx, &api.Bucket{Name: "backups"})), api.CodeAlreadyExists,
			"BucketAlreadyExists"},
		"bucket name": {errOf(client.Buckets().Create(ctx, &api.Bucket{Name: "No/Name"})), api.CodeInvalid,
			"InvalidBucketName"},
		"CIDR": {errOf(client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.1/16"})), api.CodeInvalid,
			"InvalidCIDR"},
		"subnet outside": {errOf(client.Subnets().Create(ctx,
			&api.Subnet{NetworkID: network.ID, CIDR: "10.1.0.0/24"})), api.CodeInvalid, "InvalidSubnet.Range"},
		"record outside": {put(api.RecordSet{Name: "a.other.test", Type: "A", Values: []string{"127.0.0.9"}}),
			api.CodeInvalid, "InvalidChangeBatch"},
		"record value": {put(api.RecordSet{Name: "b.example.test", Type: "A", Values: []string{"::1"}}),
			api.CodeInvalid, "InvalidChangeBatch"},
		"alias beside address": {put(api.RecordSet{Name: "a.example.test", Type: "CNAME",
			Values: []string{"b.example.test"}}), api.CodeInvalid, "InvalidChangeBatch"},
		"volume in another zone": {errOf(client.Volumes().Create(ctx,
			&api.Volume{Size: "1Gi", Zone: "z2", MachineID: machine.ID})), api.CodeInvalid, "InvalidParameterValue"},
		"immutable": {errOf(client.Routers().Update(ctx,
			must(client.Routers().Create(ctx, &api.Router{NetworkID: network.ID}))(t).ID, &api.Router{})), api.CodeInvalid,
			"UnsupportedOperation"},
		"old version": {errOf(client.Networks().Update(ctx, network.ID, &api.Network{Meta: api.Meta{Version: 77},
			CIDR: network.CIDR})), api.CodeConflict, "ConditionalCheckFailed"},
		"unknown token": {errOf(cloud.as(t, "nobody").Networks().List(ctx, api.Filter{})), api.CodeUnauthenticated,
			"AuthFailure"},
		"faults are not for all": {errOf(client.SetFault(ctx, api.Fault{Meta: api.Meta{ID: "f"}})), api.CodeUnauthorized,
			"UnauthorizedOperation"},
		"ledger is not for all": {errOf(client.Ledger(ctx, api.LedgerQuery{})), api.CodeUnauthorized,
			"UnauthorizedOperation"},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, test.err, test.code)
			if test.err != nil && !strings.HasPrefix(test.err.Error(), test.reason+": ") {
				t.Errorf("error reads %q, want reason %q", test.err, test.reason)
			}
		})
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestUpdate(t *testing.T) {
	t.Parallel()
	client, ctx := start(t, Options{}).as(t, "extensions-a"), t.Context()
	lb := must(client.LoadBalancers().Create(ctx, &api.LoadBalancer{Name: "lb", Addresses: []string{"127.230.192.1"}}))(t)
	lb.Addresses = []string{"127.230.192.2", "127.230.192.3"}
	updated := must(client.LoadBalancers().Update(ctx, lb.ID, lb))(t)
	if updated.Version <= lb.Version || updated.ID != lb.ID || !updated.CreatedAt.Equal(lb.CreatedAt) {
		t.Errorf("updated to %+v from %+v", updated.Meta, lb.Meta)
	}
	_, err := client.LoadBalancers().Update(ctx, lb.ID, lb)
	wantCode(t, err, api.CodeConflict)
	got := must(client.LoadBalancers().Get(ctx, lb.ID))(t)
	if diff := cmp.Diff(updated, got); diff != "" {
		t.Errorf("read differs from what was written: %s", diff)
	}
	if err := client.LoadBalancers().Delete(ctx, lb.ID); err != nil {
		t.Fatal(err)
	}
	_, err = client.LoadBalancers().Get(ctx, lb.ID)
	wantCode(t, err, api.CodeNotFound)
}

// A load balancer gets an address that leads somewhere where the landscape has such addresses.
func TestLoadBalancer_WithoutAnAddress_GetsOneOfTheRange(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", "127.16.255.252/30"} {
		options, want := Options{}, forTests
		if given != "" {
			options.Balancers = netip.MustParsePrefix(given)
			want = options.Balancers
		}
		client, seen := start(t, options).as(t, "extensions-a"), map[netip.Addr]bool{}
		for range 2 { // as many as the small range has
			made := must(client.LoadBalancers().Create(t.Context(), &api.LoadBalancer{}))(t)
			address := netip.MustParseAddr(made.Addresses[0])
			if !want.Contains(address) || seen[address] {
				t.Errorf("got %s of %s, taken: %t", address, want, seen[address])
			}
			seen[address] = true
		}
		if _, err := client.LoadBalancers().Create(t.Context(), &api.LoadBalancer{}); (given != "") != (err != nil) {
			t.Errorf("a third one of %q: %v", given, err)
		}
	}
	for _, wrong := range []string{"127.0.0.0/31", "::/64"} {
		_, err := Open(t.Context(), Options{Dir: t.TempDir(), Balancers: netip.MustParsePrefix(wrong)})
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestMachineLife(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Now())
	cloud := start(t, Options{Clock: clock, BootDelay: 5 * time.Second})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	m := must(client.Machines().Create(ctx, &api.Machine{Name: "node-1", Type: "small", UserData: "secret"}))(t)
	if m.State != api.MachinePending || m.Hostname != "node-1" || m.PrivateIP != "10.250.0.4" || m.UserData != "" ||
		m.UserDataDigest == "" {
		t.Errorf("new machine is %+v", m)
	}
	unnamed := must(client.Machines().Create(ctx, &api.Machine{Type: "small"}))(t)
	if unnamed.Hostname != "ip-10-250-0-5" {
		t.Errorf("hostname of a machine without a name is %q", unnamed.Hostname)
	}
	state := func() api.MachineState { return must(client.Machines().Get(ctx, m.ID))(t).State }
	clock.Step(4 * time.Second)
	if state() != api.MachinePending {
		t.Error("machine runs before it has booted")
	}
	clock.Step(time.Second)
	if state() != api.MachineRunning {
		t.Error("machine does not run after it has booted")
	}
	if again := must(client.RebootMachine(ctx, m.ID))(t); again.State != api.MachinePending || again.Restarts != 1 ||
		again.PrivateIP != m.PrivateIP {
		t.Errorf("rebooted machine is %+v", again)
	}
	if shown := must(cloud.as(t, "nodes").Machines().Get(ctx, m.ID))(t); shown.UserData != "secret" {
		t.Errorf("the nodes' identity sees user data %q", shown.UserData)
	}
	if err := client.Machines().Delete(ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	if state() != api.MachineTerminated {
		t.Error("deleted machine is not terminated")
	}
	wantCode(t, client.Machines().Delete(ctx, m.ID), api.CodeNotFound)
	if left := must(client.Machines().List(ctx, api.Filter{}))(t); len(left) != 1 || left[0].ID != unnamed.ID {
		t.Errorf("listed machines are %v, want the one that lives", left)
	}
	for _, entry := range cloud.ledgerOf(t) {
		if strings.Contains(string(entry.Object), "secret") {
			t.Errorf("entry %d shows user data", entry.Seq)
		}
	}
}
