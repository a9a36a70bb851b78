package extension

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/infrastructure"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
)

// fixtures are one object of each kind that moves with a shoot, as a gardenlet deploys it. What stands before it in the
// flow is given by hand.
func fixtures() []func() extensionsv1alpha1.Object {
	return []func() extensionsv1alpha1.Object{
		func() extensionsv1alpha1.Object { return infrastructureObject() },
		func() extensionsv1alpha1.Object { return dnsRecordObject() },
		func() extensionsv1alpha1.Object { return backupEntryObject() },
		func() extensionsv1alpha1.Object { return controlPlaneObject() },
		func() extensionsv1alpha1.Object { return networkObject() },
		func() extensionsv1alpha1.Object { return oscObject() },
		func() extensionsv1alpha1.Object { return workerObject() },
		func() extensionsv1alpha1.Object { return containerRuntimeObject() },
		func() extensionsv1alpha1.Object { return extensionObject() },
	}
}

// eachKind runs a clause for each kind, each with a cloud and a seed of its own.
func eachKind(t *testing.T, clause func(t *testing.T, fresh func() extensionsv1alpha1.Object)) {
	t.Helper()
	for _, fixture := range fixtures() {
		name := strings.TrimPrefix(typeName(fixture()), "*v1alpha1.")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clause(t, fixture)
		})
	}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: technicalID, Name: name, UID: "uid-of-" + "object"}
}

func spec() extensionsv1alpha1.DefaultSpec { return extensionsv1alpha1.DefaultSpec{Type: "transplant"} }

func infrastructureObject() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: named("alpha"), Spec: extensionsv1alpha1.InfrastructureSpec{
		DefaultSpec: spec(), Region: "r", SSHPublicKey: []byte("ssh-ed25519 AAAA"),
	}}
}

func dnsRecordObject() *extensionsv1alpha1.DNSRecord {
	return &extensionsv1alpha1.DNSRecord{ObjectMeta: named("alpha-internal"), Spec: extensionsv1alpha1.DNSRecordSpec{
		DefaultSpec: spec(), Zone: ptr.To("shoots.test"), Name: "api.alpha.p.shoots.test", RecordType: "A",
		Values: []string{"127.0.0.1"}, TTL: ptr.To[int64](7),
	}}
}

func backupEntryObject() *extensionsv1alpha1.BackupEntry {
	return &extensionsv1alpha1.BackupEntry{ObjectMeta: metav1.ObjectMeta{Name: entryName, UID: "u"},
		Spec: extensionsv1alpha1.BackupEntrySpec{
			DefaultSpec: spec(), Region: "r", BucketName: "bucket-a", SecretRef: corev1.SecretReference{Namespace: "garden",
				Name: "entry-" + entryName},
		}}
}

func givenInfrastructure() *infrastructure.Status {
	return &infrastructure.Status{
		NetworkID: "net-1", RouterID: "rou-1", SecurityGroupID: "sec-1", KeyPairName: technicalID,
		Subnets: []infrastructure.SubnetStatus{{Zone: "r-a", ID: "sub-a"}, {Zone: "r-b", ID: "sub-b"}},
	}
}

func controlPlaneObject() *extensionsv1alpha1.ControlPlane {
	return &extensionsv1alpha1.ControlPlane{ObjectMeta: named("alpha"), Spec: extensionsv1alpha1.ControlPlaneSpec{
		DefaultSpec: spec(), Region: "r", InfrastructureProviderStatus: reference.Encode(givenInfrastructure()),
	}}
}

func networkObject() *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{ObjectMeta: named("alpha"), Spec: extensionsv1alpha1.NetworkSpec{
		DefaultSpec: spec(), PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13",
	}}
}

func oscObject() *extensionsv1alpha1.OperatingSystemConfig {
	node := cloud.NodeUserData{Shoot: technicalID, Server: "https://api.alpha.p.test:9443", Token: "t"}
	content, err := node.Marshal()
	if err != nil {
		panic(err)
	}
	return &extensionsv1alpha1.OperatingSystemConfig{ObjectMeta: named("gardener-node-agent-pool-abc-init"),
		Spec: extensionsv1alpha1.OperatingSystemConfigSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "simulated"},
			Purpose:     extensionsv1alpha1.OperatingSystemConfigPurposeProvision,
			Files: []extensionsv1alpha1.File{
				{Path: "/etc/transplant/node.json", Content: extensionsv1alpha1.FileContent{
					Inline: &extensionsv1alpha1.FileContentInline{
						Encoding: "b64", Data: base64.StdEncoding.EncodeToString([]byte(content))}}},
				{Path: "/etc/motd", Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{
					Data: "hello"}}},
			},
			Units: []extensionsv1alpha1.Unit{{Name: "a.service", Content: ptr.To("[Unit]")}},
		}}
}

func workerObject() *extensionsv1alpha1.Worker {
	return &extensionsv1alpha1.Worker{ObjectMeta: named("alpha"), Spec: extensionsv1alpha1.WorkerSpec{
		DefaultSpec: spec(), Region: "r", InfrastructureProviderStatus: reference.Encode(givenInfrastructure()),
		Pools: []extensionsv1alpha1.WorkerPool{{
			Name: "pool", MachineType: "m1", MachineImage: extensionsv1alpha1.MachineImage{Name: "os", Version: "1.0.0"},
			Minimum: 3, Maximum: 5, MaxSurge: intstr.FromInt32(1), Zones: []string{"r-a", "r-b"},
			KubernetesVersion: ptr.To("1.36.3"),
			UserDataSecretRef: corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "user-data"},
				Key: "cloud_config"},
		}},
	}}
}

func containerRuntimeObject() *extensionsv1alpha1.ContainerRuntime {
	return &extensionsv1alpha1.ContainerRuntime{ObjectMeta: named("transplant-pool"),
		Spec: extensionsv1alpha1.ContainerRuntimeSpec{
			DefaultSpec: spec(), BinaryPath: "/bin", WorkerPool: extensionsv1alpha1.ContainerRuntimeWorkerPool{Name: "pool"},
		}}
}

func extensionObject() *extensionsv1alpha1.Extension {
	return &extensionsv1alpha1.Extension{ObjectMeta: named("transplant"),
		Spec: extensionsv1alpha1.ExtensionSpec{DefaultSpec: spec()}}
}
