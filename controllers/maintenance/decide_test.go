package maintenance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/maintenance"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

const linux = "cri: [{name: containerd}], architectures: [amd64]"

// decideCase is a shoot, a profile, and what becomes of the versions: of the control plane, then of each pool in turn
// (Kubernetes where it has its own, image), as class and version.
type decideCase struct {
	name, kubernetes, images, shoot string
	want                            []string
	failure                         string // of the first one that failed
}

var decideCases = []decideCase{
	{
		"a pool with an unknown image stops nobody, and is reported",
		"[{version: 1.33.1}]", "[{name: linux, versions: [{version: 1.0.0, " + linux + "}, {version: 1.0.1, " + linux +
			"}]}]",
		`{kubernetes: {version: 1.33.1}, provider: {type: x, workers: [
			{name: a, minimum: 0, maximum: 1, machine: {type: m, image: {name: gone, version: 1.0.0}}},
			{name: b, minimum: 0, maximum: 1, machine: {type: m, image: {name: linux, version: 1.0.0}}}]}, region: here}`,
		[]string{"none 1.33.1", "failed 1.0.0", "auto 1.0.1"},
		`Worker pool "a": machine image "gone" cannot be updated: the CloudProfile has no machine image "gone": move the ` +
			`pool to another image`,
	},
	{
		"images fit the Kubernetes version afterwards",
		"[{version: 1.33.1, expirationDate: \"2020-01-01T00:00:00Z\"}, {version: 1.34.0}]",
		`[{name: linux, versions: [{version: 1.0.0, ` + linux + `}, {version: 1.0.1, ` + linux +
			`}, {version: 1.0.2, kubeletVersionConstraint: "< 1.34", ` + linux + `}]}]`,
		`{kubernetes: {version: 1.33.1}, provider: {type: x, workers: [{name: a, minimum: 0, maximum: 1, machine: {type: ` +
			`m, image: {name: linux, version: 1.0.0}}}]}, region: here}`,
		[]string{"forced 1.34.0", "auto 1.0.1"}, "",
	},
	{
		"an image that does not fit the new Kubernetes version goes along",
		"[{version: 1.33.1, expirationDate: \"2020-01-01T00:00:00Z\"}, {version: 1.34.0}]",
		`[{name: linux, updateStrategy: patch, versions: [{version: 1.0.0, kubeletVersionConstraint: "< 1.34", ` + linux +
			`}, {version: 1.2.0, ` + linux + `}]}]`,
		`{kubernetes: {version: 1.33.1}, maintenance: {autoUpdate: {kubernetesVersion: false, machineImageVersion: ` +
			`false}}, provider: {type: x, workers: [{name: a, minimum: 0, maximum: 1, machine: {type: m, image: {name: linux,` +
			` version: 1.0.0}}}]}, region: here}`,
		[]string{"forced 1.34.0", "forced 1.2.0"}, "",
	},
	{
		"no image for the new Kubernetes version: the control plane waits, the other pool does not",
		"[{version: 1.33.1, expirationDate: \"2020-01-01T00:00:00Z\"}, {version: 1.34.0}]",
		`[{name: linux, versions: [{version: 1.0.0, kubeletVersionConstraint: "< 1.34", ` + linux +
			`}]}, {name: other, versions: [{version: 1.0.0, ` + linux + `}, {version: 1.0.1, ` + linux + `}]}]`,
		`{kubernetes: {version: 1.33.1}, provider: {type: x, workers: [
			{name: a, minimum: 0, maximum: 1, machine: {type: m, image: {name: linux, version: 1.0.0}}},
			{name: b, minimum: 0, maximum: 1, machine: {type: m, image: {name: other, version: 1.0.0}}}]}, region: here}`,
		[]string{"failed 1.33.1", "none 1.0.0", "auto 1.0.1"},
		`Control Plane: Kubernetes version cannot be updated: worker pool "a" cannot go to 1.34.0: its machine image ` +
			`"linux" 1.0.0 does not fit that kubelet version, and there is none to update to`,
	},
	{
		"no image for the pool's own Kubernetes version: the pool waits, the control plane does not",
		"[{version: 1.33.1, expirationDate: \"2020-01-01T00:00:00Z\"}, {version: 1.34.0}]",
		`[{name: linux, versions: [{version: 1.0.0, kubeletVersionConstraint: "< 1.34", ` + linux + `}]}]`,
		`{kubernetes: {version: 1.33.1}, provider: {type: x, workers: [{name: a, minimum: 0, maximum: 1, kubernetes: ` +
			`{version: 1.33.1}, machine: {type: m, image: {name: linux, version: 1.0.0}}}]}, region: here}`,
		[]string{"forced 1.34.0", "failed 1.33.1", "none 1.0.0"},
		`Worker pool "a": Kubernetes version cannot be updated: worker pool "a" cannot go to 1.34.0: its machine image ` +
			`"linux" 1.0.0 does not fit that kubelet version, and there is none to update to`,
	},
	{
		"a pool is not left too far behind",
		"[{version: 1.33.1, expirationDate: \"2020-01-01T00:00:00Z\"}, {version: 1.34.0}, {version: 1.30.1}]", "[]",
		`{kubernetes: {version: 1.33.1}, provider: {type: x, workers: [{name: a, minimum: 0, maximum: 1, kubernetes: ` +
			`{version: 1.30.1}, machine: {type: m}}]}, region: here}`,
		[]string{"failed 1.33.1", "none 1.30.1"},
		`Control Plane: Kubernetes version cannot be updated: worker pool "a" would stay at 1.30.1, more than 3 minor ` +
			`versions behind 1.34.0: update the pool first`,
	},
	{
		"a pool goes to the control plane's version and no further",
		"[{version: 1.33.3}, {version: 1.33.9}, {version: 1.33.1, expirationDate: \"2020-01-01T00:00:00Z\"}]", "[]",
		`{kubernetes: {version: 1.33.3}, maintenance: {autoUpdate: {kubernetesVersion: false}}, provider: {type: x, ` +
			`workers: [{name: a, minimum: 0, maximum: 1, kubernetes: {version: 1.33.1}, machine: {type: m}}]}, region: here}`,
		[]string{"none 1.33.3", "forced 1.33.3"}, "",
	},
	{
		"a pool is not updated automatically to a preview because the control plane is one",
		"[{version: 1.33.3, classification: preview}, {version: 1.34.0}, {version: 1.33.1}, {version: 1.33.2}]", "[]",
		`{kubernetes: {version: 1.33.3}, provider: {type: x, workers: [{name: a, minimum: 0, maximum: 1, kubernetes: ` +
			`{version: 1.33.1}, machine: {type: m}}]}, region: here}`,
		[]string{"none 1.33.3", "auto 1.33.2"}, "",
	},
	{
		"a pool that is ahead already stays",
		"[{version: 1.33.3}, {version: 1.33.9}]", "[]",
		`{kubernetes: {version: 1.33.3}, maintenance: {autoUpdate: {kubernetesVersion: false}}, provider: {type: x, ` +
			`workers: [{name: a, minimum: 0, maximum: 1, kubernetes: {version: 1.33.5}, machine: {type: m}}]}, region: here}`,
		[]string{"none 1.33.3", "none 1.33.5"}, "",
	},
	{
		"a shoot without pools, of which nothing is said",
		"[{version: 1.33.3}, {version: 1.33.9}]", "[]",
		`{kubernetes: {version: 1.33.3}, provider: {type: x}, region: here}`,
		[]string{"auto 1.33.9"}, "",
	},
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, s := range decideCases {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			shoot := &gardencorev1beta1.Shoot{Spec: *read[gardencorev1beta1.ShootSpec](t,
				strings.ReplaceAll(s.shoot, "\t", " "))}
			profile := &gardencorev1beta1.CloudProfile{Spec: *read[gardencorev1beta1.CloudProfileSpec](t,
				"{type: x, regions: [], machineTypes: [{name: m, cpu: 1, gpu: 0, memory: 1Gi}], kubernetes: {versions: "+
					s.kubernetes+"}, machineImages: "+s.images+"}")}
			plan := decide(shoot, profile)
			var got []string
			add := func(update *version.Update) {
				if update != nil {
					got = append(got, string(update.Class)+" "+update.To)
				}
			}
			add(&plan.ControlPlane)
			for _, pool := range plan.Pools {
				add(pool.Kubernetes)
				add(pool.MachineImage)
			}
			if diff := cmp.Diff(s.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			last := plan.Shoot.Status.LastMaintenance
			switch {
			case s.failure == "" && last != nil && last.State != gardencorev1beta1.LastOperationStateSucceeded:
				t.Errorf("%+v", last)
			case s.failure != "" && (last.State != gardencorev1beta1.LastOperationStateFailed ||
				*last.FailureReason != s.failure):
				t.Errorf("%s: %s", last.State, *last.FailureReason)
			}
		})
	}
}

// TestAPendingInPlaceUpdateHoldsUpTheNext lets an update be forced over it only if the shoot asks for it.
func TestAPendingInPlaceUpdateHoldsUpTheNext(t *testing.T) {
	t.Parallel()
	profile := &gardencorev1beta1.CloudProfile{Spec: *read[gardencorev1beta1.CloudProfileSpec](t, `
type: x
regions: []
machineTypes: [{name: m, cpu: 1, gpu: 0, memory: 1Gi}]
kubernetes: {versions: [{version: 1.33.1, expirationDate: "2020-01-01T00:00:00Z"}, {version: 1.34.0}]}
machineImages: [{name: linux, versions: [
  {version: 1.0.0, inPlaceUpdates: {supported: true}, `+linux+`},
  {version: 1.0.1, inPlaceUpdates: {supported: true, minVersionForUpdate: 1.0.0}, `+linux+`}]}]
`)}
	shoot := &gardencorev1beta1.Shoot{Spec: *read[gardencorev1beta1.ShootSpec](t,
		`{kubernetes: {version: 1.33.1}, provider: {type: x, workers: [{name: a, minimum: 0, maximum: 1, updateStrategy: `+
			`AutoInPlaceUpdate, machine: {type: m, image: {name: linux, version: 1.0.0}}}]}, region: here}`)}
	for _, c := range []struct{ pending, operation, controlPlane, image string }{
		{"a", "", "failed", "none"},
		{"b", "", "forced", "auto"},
		{"a", "maintain;force-in-place-update", "forced", "auto"},
	} {
		shoot.Annotations = map[string]string{constants.GardenerOperation: c.operation}
		shoot.Status.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdatesStatus{
			PendingWorkerUpdates: &gardencorev1beta1.PendingWorkerUpdates{AutoInPlaceUpdate: []string{c.pending}}}
		plan := decide(shoot, profile)
		for _, err := range rollout.ValidateInPlace(plan.Shoot, shoot) {
			t.Errorf("%+v: admission refuses what is planned: %v", c, err)
		}
		if string(plan.ControlPlane.Class) != c.controlPlane || string(plan.Pools[0].MachineImage.Class) != c.image {
			t.Errorf("%+v: %+v, %+v", c, plan.ControlPlane, plan.Pools[0].MachineImage)
		}
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	deleted := metav1.NewTime(noon)
	for _, c := range []struct {
		name, operation, begin, end string
		deletion                    *metav1.Time
		want                        bool
	}{
		{"asked for", "maintain", "220000+0000", "230000+0000", nil, true},
		{"asked for among others", "rotate-ssh-keypair; maintain", "220000+0000", "230000+0000", nil, true},
		{"asked for something else", "reconcile", "220000+0000", "230000+0000", nil, false},
		{"in the window", "", "113000+0000", "121500+0000", nil, true},
		{"too late in the window", "", "113000+0000", "121459+0000", nil, false},
		{"no window that can be read", "", "noon", "230000+0000", nil, true},
		{"being deleted", "maintain", "110000+0000", "130000+0000", &deleted, false},
	} {
		shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: c.deletion}}
		if c.operation != "" {
			shoot.Annotations = map[string]string{constants.GardenerOperation: c.operation}
		}
		shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{
			Begin: c.begin, End: c.end}}
		if got := maintenance.Due(shoot, noon); got != c.want {
			t.Errorf("%s: due %t", c.name, got)
		}
	}
	if !maintenance.Due(&gardencorev1beta1.Shoot{}, noon) {
		t.Error("a shoot of which nothing is said is not due")
	}
}

const fourTasks = "deployInfrastructure,deployDNSRecordInternal,deployDNSRecordExternal,deployDNSRecordIngress"

// TestWhatIsAskedForAfterwards is about the annotations of a shoot whose versions stay.
func TestWhatIsAskedForAfterwards(t *testing.T) {
	t.Parallel()
	const operation, later, retry, tasks = constants.GardenerOperation, constants.GardenerMaintenanceOperation,
		constants.ShootNeedsRetryOperation, constants.ShootTasks
	for _, c := range []struct {
		name         string
		state        gardencorev1beta1.LastOperationState
		config       maintenance.Config
		before, want map[string]string
		reported     string
	}{
		{"no operation yet, no annotations", "", maintenance.Config{}, nil, map[string]string{tasks: fourTasks}, ""},
		{"always a reconciliation", "Succeeded", maintenance.Config{}, map[string]string{operation: "maintain"},
			map[string]string{operation: "reconcile", tasks: fourTasks}, ""},
		{
			"what was put by", "Error", maintenance.Config{RestartControlPlane: true, RestartCoreAddons: true},
			map[string]string{later: "rotate-ssh-keypair;reconcile", tasks: "deployInfrastructure,other"},
			map[string]string{operation: "rotate-ssh-keypair;reconcile",
				tasks: "deployInfrastructure,other,deployDNSRecordInternal,deployDNSRecordExternal,deployDNSRecordIngress," +
					"restartControlPlanePods,restartCoreAddons"},
			`All maintenance operations successful. Added "rotate-ssh-keypair;reconcile" operation annotation`,
		},
		{
			"what is asked for besides stays", "Succeeded", maintenance.Config{},
			map[string]string{operation: "force-in-place-update; maintain;reconcile", later: "rollout-workers=a,b"},
			map[string]string{operation: "force-in-place-update;reconcile;rollout-workers=a,b", tasks: fourTasks},
			`All maintenance operations successful. Added "rollout-workers=a,b;reconcile" operation annotation`,
		},
		{
			"what cannot be put by", "Succeeded", maintenance.Config{},
			map[string]string{later: "maintain;whatever;rotate-ssh-keypair;force-in-place-update;rotate-ssh-keypair"},
			map[string]string{operation: "rotate-ssh-keypair;reconcile", tasks: fourTasks},
			`All maintenance operations successful. Added "rotate-ssh-keypair;reconcile" operation annotation`,
		},
		{
			"rotations that nobody carries out", "Succeeded", maintenance.Config{},
			map[string]string{later: "rotate-credentials-start;rotate-ca-complete;rotate-serviceaccount-key-start;" +
				"rotate-etcd-encryption-key;rotate-etcd-encryption-key-start;rotate-observability-credentials"},
			map[string]string{operation: "reconcile", tasks: fourTasks}, "",
		},
		{"no operation yet, other wishes", "", maintenance.Config{},
			map[string]string{operation: "maintain;rotate-ssh-keypair"}, map[string]string{operation: "rotate-ssh-keypair",
				tasks: fourTasks}, ""},
		{
			"failed, to be retried, other wishes", "Failed", maintenance.Config{},
			map[string]string{operation: "rollout-workers=a;maintain", retry: "true"},
			map[string]string{operation: "rollout-workers=a;retry", tasks: fourTasks}, "",
		},
		{"failed", "Failed", maintenance.Config{}, map[string]string{operation: "maintain", later: "rotate-ssh-keypair"},
			map[string]string{later: "rotate-ssh-keypair", tasks: fourTasks}, ""},
		{"failed, to be retried", "Failed", maintenance.Config{}, map[string]string{retry: "true"},
			map[string]string{operation: "retry", tasks: fourTasks}, ""},
		{"failed, not to be retried", "Failed", maintenance.Config{}, map[string]string{retry: "maybe"},
			map[string]string{retry: "maybe", tasks: fourTasks}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Annotations: c.before}}
			shoot.Spec.Kubernetes.Version = "1.33.1"
			shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "a"}}
			if c.state != "" {
				shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{State: c.state}
			}
			profile := &gardencorev1beta1.CloudProfile{}
			profile.Spec.Kubernetes.Versions = []gardencorev1beta1.ExpirableVersion{{Version: "1.33.1"}}
			after := maintenance.Decide(shoot, profile, noon, c.config).Shoot
			if diff := cmp.Diff(c.want, after.Annotations); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			reported := ""
			if after.Status.LastMaintenance != nil {
				reported = after.Status.LastMaintenance.Description
			}
			if reported != c.reported {
				t.Errorf("reported %q", reported)
			}
		})
	}
}

func TestAFailureThatIsOverIsForgotten(t *testing.T) {
	t.Parallel()
	profile := &gardencorev1beta1.CloudProfile{}
	profile.Spec.Kubernetes.Versions = []gardencorev1beta1.ExpirableVersion{{Version: "1.33.1"}}
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Spec.Kubernetes.Version = "1.33.1"
	why, long := "x", metav1.NewTime(noon.Add(-24*time.Hour))
	shoot.Status.LastMaintenance = &gardencorev1beta1.LastMaintenance{Description: "y", TriggeredTime: long,
		State: "Failed", FailureReason: &why}
	want := &gardencorev1beta1.LastMaintenance{Description: "Maintenance succeeded", TriggeredTime: long,
		State: "Succeeded"}
	if diff := cmp.Diff(want, decide(shoot, profile).Shoot.Status.LastMaintenance); diff != "" {
		t.Error(diff)
	}
	// One that was cut off after its last change has done what it said.
	shoot.Status.LastMaintenance = &gardencorev1beta1.LastMaintenance{Description: "y", TriggeredTime: long,
		State: "Processing"}
	want = &gardencorev1beta1.LastMaintenance{Description: "y", TriggeredTime: long, State: "Succeeded"}
	if diff := cmp.Diff(want, decide(shoot, profile).Shoot.Status.LastMaintenance); diff != "" {
		t.Error(diff)
	}
	shoot.Spec.Kubernetes.Version = "1.32.1"
	if got := decide(shoot, profile).Shoot.Status.LastMaintenance; got.State != "Succeeded" ||
		!got.TriggeredTime.Time.Equal(noon) ||
		got.Description != `All maintenance operations successful. Control Plane: Updated Kubernetes version from `+
			`"1.32.1" to "1.33.1". Reason: Version does not exist in CloudProfile` {
		t.Errorf("%+v", got)
	}
}

// TestRotations: only what the gardenlet carries out is asked for, and what is not asked for is not reported.
func TestRotations(t *testing.T) {
	t.Parallel()
	const spec = `{kubernetes: {version: 1.33.1}, region: here, maintenance: {autoRotation: {credentials: {
  sshKeypair: {rotationPeriod: 24h}, observability: {rotationPeriod: 24h}, etcdEncryptionKey: {rotationPeriod: 24h}}}},
  provider: {type: x, workers: [{name: a, minimum: 0, maximum: 1, machine: {type: m}}]}}`
	const reported = `Credentials "rotate-ssh-keypair": SSH keypair rotation requested. Reason: Automatic rotation of ` +
		`SSH keypair configured`
	ssh := func(initiated, completed time.Duration) func(*gardencorev1beta1.Shoot) {
		return func(s *gardencorev1beta1.Shoot) {
			r := &gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: &metav1.Time{Time: noon.Add(initiated)}}
			if completed != 0 {
				r.LastCompletionTime = &metav1.Time{Time: noon.Add(completed)}
			}
			s.Status.Credentials = &gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
				SSHKeypair: r}}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*gardencorev1beta1.Shoot)
		due    bool
	}{
		{"due since the creation", func(*gardencorev1beta1.Shoot) {}, true},
		{"created too recently", func(s *gardencorev1beta1.Shoot) {
			s.CreationTimestamp = metav1.NewTime(noon.Add(-24 * time.Hour))
		}, false},
		{"rotated in the meantime", ssh(-time.Hour, -time.Hour), false},
		{"rotated long ago", ssh(-26*time.Hour, -25*time.Hour), true},
		{"under way", ssh(-25*time.Hour, 0), false},
		{"asleep", func(s *gardencorev1beta1.Shoot) { s.Status.IsHibernated = true }, true},
		{"no SSH", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Provider.WorkersSettings = &gardencorev1beta1.WorkersSettings{SSHAccess: &gardencorev1beta1.SSHAccess{}}
		}, false},
		{"no nodes", func(s *gardencorev1beta1.Shoot) { s.Spec.Provider.Workers = nil }, false},
		{"no operation yet", func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation = nil }, false},
		{"failed", func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.State = "Failed" }, false},
		{"switched off", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Maintenance.AutoRotation.Credentials.SSHKeypair.RotationPeriod = &metav1.Duration{}
		}, false},
		{"only others", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Maintenance.AutoRotation.Credentials.SSHKeypair = nil
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shoot := &gardencorev1beta1.Shoot{Spec: *read[gardencorev1beta1.ShootSpec](t, spec)}
			shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{State: "Succeeded"}
			c.change(shoot)
			profile := &gardencorev1beta1.CloudProfile{}
			profile.Spec.Kubernetes.Versions = []gardencorev1beta1.ExpirableVersion{{Version: "1.33.1"}}
			plan := decide(shoot, profile)
			asked := strings.Contains(plan.Shoot.Annotations[constants.GardenerOperation], "rotate")
			if asked != c.due || (len(plan.Rotations) == 1) != c.due || strings.Count(plan.Operation, "rotate") > 1 {
				t.Errorf("due %t: asked for %q, planned %+v", c.due, plan.Operation, plan.Rotations)
			}
			description := ""
			if last := plan.Shoot.Status.LastMaintenance; last != nil {
				description = last.Description
			}
			if got := strings.Contains(description, reported); got != c.due || strings.Contains(description, "rotat") != c.due {
				t.Errorf("due %t: reported %q", c.due, description)
			}
		})
	}
}
