package controlplane

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// order says which task may not begin before which have ended, and why.
type order struct {
	task  flow.TaskID
	after []flow.TaskID
	why   string
}

func inOrder(t *testing.T, graph *flow.Graph, table []order) {
	t.Helper()
	there := graph.Tasks()
	for _, c := range table {
		if !slices.Contains(there, c.task) {
			t.Errorf("there is no %q", c.task)
			continue
		}
		before := graph.Before(c.task)
		for _, earlier := range c.after {
			if !slices.Contains(before, earlier) {
				t.Errorf("%q must come after %q (%s); it comes after %q", c.task, earlier, c.why, before)
			}
		}
	}
}

// everyTask is one that names each task of a graph, so that none is added without a place in the order.
func everyTask(t *testing.T, graph *flow.Graph, tables ...[]order) {
	t.Helper()
	named := map[flow.TaskID]bool{}
	for _, c := range slices.Concat(tables...) {
		named[c.task] = true
		for _, earlier := range c.after {
			named[earlier] = true
		}
	}
	for _, task := range graph.Tasks() {
		if !named[task] {
			t.Errorf("the table does not say when %q comes", task)
		}
	}
}

const (
	taskNamespace   = "Deploying control plane namespace"
	taskCredentials = "Deploying cloud provider account secret"
	taskSecrets     = "Initializing secrets management"
	taskReferenced  = "Deploying referenced resources"
	taskExternal    = "Deploying external domain DNS record"
	taskWorkers     = "Waiting until worker pools have been reconciled"
)

// The order of docs/specification/migration.md#spec-2-9, by the numbers of its table, of a restore of a shoot that is
// awake.
var restoreOrder = []order{
	{"Deploying services of the control plane", []flow.TaskID{taskNamespace}, "8: after 1"},
	{taskCredentials, []flow.TaskID{taskNamespace}, "3: after 1"},
	{taskSecrets, []flow.TaskID{taskNamespace}, "4: after 1"},
	{taskReferenced, []flow.TaskID{taskNamespace}, "5: after 1"},
	{"Deploying Shoot infrastructure", []flow.TaskID{taskSecrets, taskCredentials}, "6: after 4, 3"},
	{"Waiting until Shoot infrastructure has been reconciled", []flow.TaskID{"Deploying Shoot infrastructure"},
		"7: after 6"},
	{"Deploying internal domain DNS record", []flow.TaskID{taskReferenced, "Deploying services of the control plane"},
		"11: after 5, 9"},
	{taskExternal, []flow.TaskID{taskReferenced, "Deploying services of the control plane"}, "12: after 5, 9"},
	{"Deploying source backup entry", []flow.TaskID{taskNamespace}, "13: after 1"},
	{"Deploying BackupEntry for ETCD data", []flow.TaskID{"Deploying source backup entry"}, "15: after 1, 14"},
	{"Waiting until the BackupEntry has been reconciled", []flow.TaskID{"Deploying BackupEntry for ETCD data"},
		"16: after 15"},
	{"Copying etcd backups to new seed's backup bucket", []flow.TaskID{taskSecrets, taskCredentials,
		"Waiting until the BackupEntry has been reconciled"}, "17: after 4, 3, 16, 14"},
	{"Deploying main etcd", []flow.TaskID{taskSecrets, taskCredentials,
		"Copying etcd backups to new seed's backup bucket"}, "20: after 4, 3, 16, 18"},
	{"Waiting until main etcd reports readiness", []flow.TaskID{"Deploying main etcd"}, "21: after 20"},
	{"Destroying source backup entry", []flow.TaskID{"Waiting until main etcd reports readiness"},
		"22: the old backups go when the new etcd is ready"},
	{"Deploying extension resources before kube-apiserver", []flow.TaskID{taskSecrets, taskCredentials, taskReferenced,
		"Waiting until Shoot infrastructure has been reconciled"}, "24: after 4, 3, 5, 7"},
	{"Waiting until extension resources handled before kube-apiserver are ready",
		[]flow.TaskID{"Deploying extension resources before kube-apiserver"}, "25: after 24"},
	{"Deploying Kubernetes API server", []flow.TaskID{
		taskSecrets, "Waiting until main etcd reports readiness",
		"Waiting until extension resources handled before kube-apiserver are ready",
		"Waiting until Shoot infrastructure has been reconciled"}, "26: after 4, 21, 9, 25, 7"},
	{"Waiting until Kubernetes API server rolled out", []flow.TaskID{"Deploying Kubernetes API server"}, "27: after 26"},
	{"Deploying Kubernetes API server service SNI settings",
		[]flow.TaskID{"Waiting until Kubernetes API server rolled out"}, "28: after 27"},
	{"Publishing the shoot's certificate authority", []flow.TaskID{taskSecrets}, "it is one of the secrets"},
	{"Deploying gardener-resource-manager", []flow.TaskID{"Waiting until Kubernetes API server rolled out"},
		"31: after 27"},
	{"Waiting until gardener-resource-manager rolled out", []flow.TaskID{"Deploying gardener-resource-manager"}, "31"},
	{"Initializing connection to Shoot", []flow.TaskID{"Deploying internal domain DNS record",
		"Deploying Kubernetes API server service SNI settings"}, "35: by its name"},
	{"Granting access to Shoot", []flow.TaskID{"Initializing connection to Shoot"},
		"those that work in it are in no group that may do everything"},
	{"Deploying kube-controller-manager and kube-scheduler",
		[]flow.TaskID{"Waiting until Kubernetes API server rolled out"},
		"36: after the API server; they need no resource manager here"},
	{"Deploying shoot control plane components", []flow.TaskID{taskSecrets, taskCredentials, taskReferenced,
		"Deploying gardener-resource-manager", "Waiting until Shoot infrastructure has been reconciled"},
		"32: after 4, 3, 31, 7, 5"},
	{"Waiting until shoot control plane has been reconciled", []flow.TaskID{"Deploying shoot control plane components"},
		"33: after 32"},
	{"Deploying extension resources after kube-apiserver",
		[]flow.TaskID{taskReferenced, "Initializing connection to Shoot"}, "37: after 5, 35"},
	{"Waiting until extension resources handled after kube-apiserver are ready",
		[]flow.TaskID{"Deploying extension resources after kube-apiserver"}, "38: after 37"},
	{"Deploying OperatingSystemConfig resources", []flow.TaskID{taskSecrets, taskCredentials,
		"Deploying gardener-resource-manager"}, "39: after 4, 3, 31"},
	{"Waiting until OperatingSystemConfig resources are ready", []flow.TaskID{"Deploying OperatingSystemConfig resources"},
		"40: after 39"},
	{"Deploying shoot network plugin", []flow.TaskID{"Waiting until Shoot infrastructure has been reconciled",
		"Deploying gardener-resource-manager"}, "41: after 7, 31"},
	{"Waiting until shoot network plugin has been reconciled", []flow.TaskID{"Deploying shoot network plugin"},
		"42: after 41"},
	{"Deploying system components on nodes", []flow.TaskID{"Initializing connection to Shoot",
		"Deploying gardener-resource-manager"}, "41: after 7, 31, 34"},
	{"Deploying machine-controller-manager", []flow.TaskID{taskSecrets, taskCredentials,
		"Deploying gardener-resource-manager"}, "43: after 4, 3, 31"},
	{"Configuring worker pools", []flow.TaskID{
		"Waiting until Shoot infrastructure has been reconciled", "Deploying machine-controller-manager",
		"Waiting until OperatingSystemConfig resources are ready",
		"Waiting until shoot network plugin has been reconciled", "Deploying the configuration of node agents",
		"Noting worker pools to be updated in place"}, "44: after 4, 3, 31, 7, 43, 40"},
	{taskWorkers, []flow.TaskID{"Configuring worker pools"}, "45, 49: after 44"},
	{"Deploying extension resources after workers", []flow.TaskID{taskWorkers}, "46: after 45"},
	{"Waiting until extension resources handled after workers are ready",
		[]flow.TaskID{"Deploying extension resources after workers"}, "47: after 46"},
	{"Noting worker pools that were updated in place", []flow.TaskID{taskWorkers}, "52: after 49"},
	{"Deploying container runtime resources", []flow.TaskID{taskReferenced, "Initializing connection to Shoot"},
		"53: after 5, 35"},
	{"Waiting until container runtime resources are ready", []flow.TaskID{"Deploying container runtime resources"}, "53"},
	{"Deleting stale OperatingSystemConfig resources", []flow.TaskID{taskWorkers}, "40: nodes that run read theirs"},
	{"Deleting stale container runtime resources", []flow.TaskID{"Waiting until container runtime resources are ready",
		taskWorkers}, "53: nodes that run use theirs"},
	{"Deleting stale extensions",
		[]flow.TaskID{"Waiting until extension resources handled after kube-apiserver are ready"}, "53"},
	{"Deleting resources that are no longer referenced", []flow.TaskID{"Deleting stale extensions",
		"Waiting until extension resources handled after workers are ready"}, "they may need theirs to the end"},
}

func TestTheOrderOfARestore(t *testing.T) {
	t.Parallel()
	o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
	o.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
	o.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeRestore}
	controlplanetest.WithDomain(o.Shoot, "alpha.example")
	graph := o.ReconcileGraph()
	inOrder(t, graph, restoreOrder)
	everyTask(t, graph, restoreOrder)
	// The landscape goes by the internal name: whoever serves the other must not hold up the shoot's control plane.
	if before := graph.Before("Initializing connection to Shoot"); slices.Contains(before, flow.TaskID(taskExternal)) {
		t.Errorf("the connection to the shoot waits for its own domain: it comes after %q", before)
	}
	// It is the way of users who wait: neither nodes nor what comes after them may be on it.
	for _, task := range graph.Before("Deploying Kubernetes API server service SNI settings") {
		if slices.Contains([]flow.TaskID{"Configuring worker pools", "Deploying gardener-resource-manager",
			"Deploying extension resources after kube-apiserver"}, task) {
			t.Errorf("users wait for %q", task)
		}
	}
}

// Only a shoot that is awake, and has a domain that is served with it, has an external record
// (docs/specification/migration.md#spec-2-9-task-12).
func TestWhoseDomainIsServed(t *testing.T) {
	t.Parallel()
	unmanaged := gardencorev1beta1.DNSProvider{Primary: ptr.To(true), Type: ptr.To("unmanaged")}
	for name, c := range map[string]struct {
		change func(*gardencorev1beta1.Shoot)
		want   bool
	}{
		"with a domain": {func(s *gardencorev1beta1.Shoot) { controlplanetest.WithDomain(s, "alpha.example") },
			true},
		"without one":            {func(*gardencorev1beta1.Shoot) {}, false},
		"with DNS and no domain": {func(s *gardencorev1beta1.Shoot) { s.Spec.DNS = &gardencorev1beta1.DNS{} }, false},
		"its owner serves it himself": {func(s *gardencorev1beta1.Shoot) {
			controlplanetest.WithDomain(s, "alpha.example", unmanaged)
		}, false},
		"it sleeps": {func(s *gardencorev1beta1.Shoot) {
			controlplanetest.WithDomain(s, "alpha.example")
			s.Spec.Hibernation, s.Status.IsHibernated = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}, true
		}, false},
	} {
		o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
		c.change(o.Shoot)
		if got := slices.Contains(o.ReconcileGraph().Tasks(), flow.TaskID(taskExternal)); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	// What is left of one whose deletion has come far is taken up, to be deleted.
	o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
	controlplanetest.WithDomain(o.Shoot, "alpha.example")
	inOrder(t, o.ReclaimGraph(), []order{{"Taking up the external domain DNS record", []flow.TaskID{taskCredentials},
		"an extension needs them"}})
}

// What an Extension does before the API server is there, it does after it has gone to sleep
// (docs/specification/migration.md#spec-2-9-task-54): also on the seed to which a sleeping shoot has moved.
func TestTheOrderOfAShootThatSleeps(t *testing.T) {
	t.Parallel()
	for name, asleep := range map[string]bool{"goes to sleep": false, "sleeps": true} {
		o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
		o.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
		o.Shoot.Spec.Hibernation, o.Shoot.Status.IsHibernated = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}, asleep
		graph := o.ReconcileGraph()
		inOrder(t, graph, []order{
			{"Hibernating control plane",
				[]flow.TaskID{taskWorkers, "Waiting until extension resources handled after kube-apiserver are ready",
					"Waiting until extension resources handled after workers are ready"}, name},
			{"Hibernating extension resources before kube-apiserver", []flow.TaskID{"Hibernating control plane"}, name},
		})
		if slices.Contains(graph.Tasks(), flow.TaskID("Deploying extension resources before kube-apiserver")) {
			t.Errorf("%s: its Extensions are dealt with as if it were awake", name)
		}
	}
}

// While a shoot sleeps nobody reaches its API server, not even to repair its roles before it migrates. So they are
// granted before it falls asleep, when nobody can take them away any more, and again when it wakes.
func TestReconcileGraph_ShootFallsAsleepOrWakes_AccessIsGranted(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{0, 1} {
		o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
		o.Shoot.Spec.Provider.Workers = make([]gardencorev1beta1.Worker, workers)
		o.Shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}
		inOrder(t, o.ReconcileGraph(), []order{{"Hibernating control plane", []flow.TaskID{"Granting access to Shoot"},
			"it falls asleep"}})
		for _, last := range []gardencorev1beta1.LastOperationType{
			gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationTypeRestore,
		} {
			o.Shoot.Spec.Hibernation, o.Shoot.Status.IsHibernated = nil, true
			o.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: last}
			inOrder(t, o.ReconcileGraph(),
				[]order{{"Granting access to Shoot", []flow.TaskID{"Initializing connection to Shoot"}, "it wakes"}})
		}
	}
}

// Whatever an extension needs to delete what it has made goes after it.
func TestTheOrderOfADeletion(t *testing.T) {
	t.Parallel()
	o := New(&scope.Scope{Shoot: &gardencorev1beta1.Shoot{}})
	o.Shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
	graph := o.DeleteGraph(flow.Task{Name: "clean"})
	table := []order{
		{taskCredentials, []flow.TaskID{taskNamespace}, "it is where they are"},
		{taskReferenced, []flow.TaskID{taskNamespace}, "it is where they are"},
		{"Deploying gardener-resource-manager", []flow.TaskID{taskCredentials}, "an earlier run may have stopped half-way"},
		{"Initializing connection to Shoot", []flow.TaskID{"Deploying gardener-resource-manager"},
			"it takes its objects off the shoot"},
		{"clean", []flow.TaskID{"Initializing connection to Shoot"}, "it works on the shoot"},
		{"Deleting worker pools", []flow.TaskID{"clean"}, "pods end on their nodes"},
		{"Deleting extension resources before kube-apiserver", []flow.TaskID{"clean", taskReferenced}, "a shoot is emptied"},
		{"Deleting extension resources", []flow.TaskID{"Deleting worker pools"}, "nodes use them"},
		{"Deleting shoot control plane components", []flow.TaskID{"Deleting extension resources",
			"Deleting extension resources before kube-apiserver"}, "a shoot is emptied"},
		{"Deleting machine-controller-manager", []flow.TaskID{"Deleting shoot control plane components",
			"Deleting worker pools"}, "only it removes machines"},
		{"Deleting managed resources", []flow.TaskID{"Deleting worker pools", "Deploying gardener-resource-manager"},
			"nodes need what they hold"},
		{"Deleting kube-apiserver deployment", []flow.TaskID{"Deleting machine-controller-manager",
			"Deleting managed resources"}, "its clients"},
		{"Deleting extension resources after kube-apiserver", []flow.TaskID{"Deleting kube-apiserver deployment"},
			"that is its moment"},
		{"Destroying shoot infrastructure", []flow.TaskID{"Deleting extension resources after kube-apiserver",
			"Deleting Bastions", taskCredentials}, "they stand in it"},
		{"Destroying DNS records", []flow.TaskID{"Deleting kube-apiserver deployment"}, "users reach it by them"},
		{"Destroying main etcd", []flow.TaskID{"Destroying shoot infrastructure", "Destroying DNS records"},
			"it holds the epoch"},
		{"Noting that nothing is left to restore", []flow.TaskID{"Destroying main etcd"}, "a restore needs it"},
		{"Deleting BackupEntry", []flow.TaskID{"Noting that nothing is left to restore"}, "a restore needs it"},
		{"Deleting ShootState", []flow.TaskID{"Deleting BackupEntry"}, "a restore needs it"},
		{"Deleting shoot namespace in Seed",
			[]flow.TaskID{"Deleting ShootState", "Deleting extension resources after kube-apiserver"}, "all is gone"},
		{"Deleting Cluster resource", []flow.TaskID{"Deleting shoot namespace in Seed"}, "its objects need it"},
		{"Releasing ownership", []flow.TaskID{"Deleting Cluster resource"}, "until then it acts"},
	}
	inOrder(t, graph, table)
	everyTask(t, graph, table)
	// A way into the machines is of no use to who empties the shoot, and must not hold him up.
	if before := graph.Before("clean"); slices.Contains(before, flow.TaskID("Deleting Bastions")) {
		t.Errorf("the clean-up waits for Bastions: it comes after %q", before)
	}
}
