// Package tunnel deploys the way of a shoot's API server to nodes that run pods: the seed's end, vpn-seed-server, and
// what the nodes' end, vpn-shoot, is made of (docs/specification/nodes-and-seeds.md#spec-7-4). What both do is in
// controllers/vpn. Simulated nodes have none.
package tunnel

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// Tunnel is that of one shoot.
type Tunnel struct {
	*scope.Scope
	workloads *workload.Workloads
	access    *shootaccess.Access
}

// New makes it over a scope.
func New(s *scope.Scope) *Tunnel {
	return &Tunnel{s, &workload.Workloads{Scope: s}, shootaccess.New(s)}
}

// Deploy deploys the seed's end, at zero replicas for a shoot that sleeps.
func (t *Tunnel) Deploy(ctx context.Context) error {
	volumes, mounts := workload.SecretVolumes(secrets.VPNSeedServer)
	return t.workloads.Deploy(ctx, workload.VPNSeedServer, t.Replicas(), corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		Volumes:                      volumes,
		Containers: []corev1.Container{{
			Name:  workload.VPNSeedServer,
			Image: t.Image,
			Command: []string{"transplant", "vpn-seed-server",
				fmt.Sprintf("--tunnel-listen=$(POD_IP):%d", workload.PortVPN),
				fmt.Sprintf("--egress-listen=$(POD_IP):%d", workload.PortEgress),
				"--certificates=" + workload.SecretFile(secrets.VPNSeedServer, ""),
				workload.MetricsFlag,
			},
			Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts,
			Ports:          workload.MetricsAt(workload.PortMetrics),
			ReadinessProbe: workload.HTTPProbe(corev1.URISchemeHTTP, "/healthz", workload.PortMetrics, 3),
		}},
	})
}

// waitTimeout bounds the wait for the first node, and for the pod on it.
const waitTimeout = 15 * time.Minute

// Wait waits until the API server reaches the nodes through it (docs/specification/migration.md#spec-2-9-task-51).
func (t *Tunnel) Wait(ctx context.Context) error {
	return t.Until(ctx, waitTimeout, "the tunnel to the nodes", t.connected)
}

// ShootObjects are the nodes' end: its certificate, and the Deployment that uses it. The Deployment is the same on
// every seed, so that a migration restarts nothing.
func ShootObjects(s *scope.Scope, certificate map[string][]byte) []client.Object {
	meta := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: secrets.VPNShoot, Labels: ShootLabels()}
	}
	const mountPath = "/srv/" + secrets.VPNShoot
	command := []string{"transplant", secrets.VPNShoot,
		fmt.Sprintf("--gateway=%s:%d", s.APIServerHost(), s.TunnelPort),
		fmt.Sprintf("--destination=outbound|%d||%s.%s.svc.cluster.local", workload.PortVPN, workload.VPNSeedServer,
			s.Namespace()),
		"--server-name=" + workload.VPNSeedServer,
		"--certificates=" + mountPath,
	}
	if s.NodeDNSServer != "" {
		command = append(command, "--dns-server="+s.NodeDNSServer)
	}
	return []client.Object{
		&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta(), Data: certificate},
		&appsv1.Deployment{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta(),
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](1), RevisionHistoryLimit: ptr.To[int32](1),
				Selector: &metav1.LabelSelector{MatchLabels: ShootLabels()},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: ShootLabels()}, Spec: corev1.PodSpec{
					PriorityClassName: "system-cluster-critical", AutomountServiceAccountToken: ptr.To(false),
					TerminationGracePeriodSeconds: ptr.To[int64](5),
					Containers: []corev1.Container{{Name: secrets.VPNShoot, Image: s.Image, Command: command,
						VolumeMounts: []corev1.VolumeMount{{Name: "certificates", MountPath: mountPath, ReadOnly: true}},
					}},
					Volumes: []corev1.Volume{{Name: "certificates", VolumeSource: corev1.VolumeSource{
						Secret: &corev1.SecretVolumeSource{SecretName: secrets.VPNShoot, DefaultMode: ptr.To[int32](0o400)},
					}}},
				}},
			},
		},
	}
}

// ShootLabels are those of the nodes' end.
func ShootLabels() map[string]string { return map[string]string{"app": secrets.VPNShoot} }
