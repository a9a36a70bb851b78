package health

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/tunnel"
)

var errAway = errors.New("away")

// checkCase breaks one thing of a healthy shoot and says which condition shows it, with what reason.
type checkCase struct {
	name      string
	change    func(*Observation)
	condition gardencorev1beta1.ConditionType
	// status is Progressing unless said otherwise: what was True and fails is Progressing until its threshold has passed.
	status  gardencorev1beta1.ConditionStatus
	reason  string
	message string // begins so
	codes   []gardencorev1beta1.ErrorCode
	// also are conditions that cannot be known either.
	also []gardencorev1beta1.ConditionType
}

// runPods makes the nodes of the shoot run pods, on a control plane that has what this needs.
func runPods(o *Observation) {
	o.Shoot.Annotations = map[string]string{"transplant.dev/nodes": "real"}
}

func testChecks(t *testing.T, cases []checkCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := healthy()
			if c.change != nil {
				c.change(o)
			}
			if c.status == "" {
				c.status = "Progressing"
			}
			for _, got := range Conditions(o, config(), noon) {
				switch {
				case got.Type == c.condition:
					if got.Status != c.status || got.Reason != c.reason || !strings.HasPrefix(got.Message, c.message) {
						t.Errorf("%s is %s, %s: %s", got.Type, got.Status, got.Reason, got.Message)
					}
					if diff := cmp.Diff(c.codes, got.Codes); diff != "" {
						t.Error(diff)
					}
				case slices.Contains(c.also, got.Type):
					if got.Status == "True" || got.Status == "False" {
						t.Errorf("%s is %s, %s: %s", got.Type, got.Status, got.Reason, got.Message)
					}
				case got.Status != "True":
					t.Errorf("%s is %s too, %s: %s", got.Type, got.Status, got.Reason, got.Message)
				}
			}
		})
	}
}

func TestAPIServerAvailable(t *testing.T) {
	t.Parallel()
	const kind = gardencorev1beta1.ShootAPIServerAvailable
	inShoot := []gardencorev1beta1.ConditionType{"EveryNodeReady", "SystemComponentsHealthy"}
	testChecks(t, []checkCase{
		{name: "HealthzRequestSucceeded", condition: kind, status: "True", reason: "HealthzRequestSucceeded"},
		{name: "HealthzRequestFailed", change: func(o *Observation) {
			o.APIServer = &APIServer{Code: 503, Body: "etcd is away"}
		}, condition: kind, reason: "HealthzRequestFailed",
			message: "API server /healthz endpoint responded with status code 503: etcd is away"},
		{name: "HealthzRequestError", change: func(o *Observation) {
			o.APIServer.RequestErr = errAway
		}, condition: kind, reason: "HealthzRequestError", message: "Request to API server /healthz endpoint failed: away"},
		{name: "APIServerDown, no client", change: func(o *Observation) {
			o.APIServer.ClientErr = errAway
		}, condition: kind, reason: "APIServerDown", message: "Could not reach API server during client initialization: away",
			also: inShoot},
		{name: "APIServerDown, not running", change: func(o *Observation) {
			o.APIServer = nil
		}, condition: kind, reason: "APIServerDown", message: "Shoot control plane is not running at the moment.",
			also: inShoot},
		{
			name: "a long answer is cut", change: func(o *Observation) {
				o.APIServer = &APIServer{Code: 500, Body: strings.Repeat("x", 1000)}
			},
			condition: kind, reason: "HealthzRequestFailed",
			message: "API server /healthz endpoint responded with status code 500: " + strings.Repeat("x", 500) + "…",
		},
	})
}

// report changes what an extension says of a condition.
func report(o *Observation, kind gardencorev1beta1.ConditionType, change func(*ExtensionReport)) {
	for i := range o.Extensions.Items {
		if o.Extensions.Items[i].Condition.Type == kind {
			change(&o.Extensions.Items[i])
		}
	}
}

func TestControlPlaneHealthy(t *testing.T) {
	t.Parallel()
	const kind = gardencorev1beta1.ShootControlPlaneHealthy
	component := func(change func(*appsv1.Deployment)) func(*Observation) {
		return func(o *Observation) { change(&o.Deployments.Items[2]) } // the kube-controller-manager
	}
	testChecks(t, []checkCase{
		{name: "ok", condition: kind, status: "True", reason: "ControlPlaneRunning"},
		{
			name: "1 stale heartbeat", change: func(o *Observation) {
				report(o, kind, func(r *ExtensionReport) { r.Heartbeat = &metav1.MicroTime{Time: noon.Add(-5*time.Minute - 1)} })
			},
			condition: kind, status: "Unknown", reason: "ControlPlaneOutdatedHealthCheckReport",
			message: "ControlPlane extension (ns/s) reports an outdated health status (last heartbeat at 2026-11-21T11:54:59Z).",
		},
		{
			name: "1 no heartbeat ever", change: func(o *Observation) {
				report(o, kind, func(r *ExtensionReport) { r.Heartbeat = nil })
			},
			condition: kind, status: "Unknown", reason: "ControlPlaneOutdatedHealthCheckReport",
		},
		{
			name: "1 a heartbeat just in time", change: func(o *Observation) {
				report(o, kind, func(r *ExtensionReport) { r.Heartbeat = &metav1.MicroTime{Time: noon.Add(-5 * time.Minute)} })
			},
			condition: kind, status: "True", reason: "ControlPlaneRunning",
		},
		{
			name: "1 extension condition Progressing", change: func(o *Observation) {
				report(o, kind, func(r *ExtensionReport) {
					r.Condition.Status, r.Condition.Reason, r.Condition.Message = "Progressing", "Rolling", "it rolls"
				})
			},
			condition: kind, reason: "ControlPlaneRolling", message: "it rolls",
		},
		{
			name: "1 extension condition False", change: func(o *Observation) {
				report(o, kind, func(r *ExtensionReport) {
					r.Condition.Status, r.Condition.Message, r.Condition.Codes = "False", "no cloud",
						[]gardencorev1beta1.ErrorCode{"ERR_INFRA_UNAUTHORIZED"}
				})
			},
			condition: kind, reason: "ControlPlaneUnhealthyReport",
			message: "ControlPlane extension (ns/s) reports failing health check: no cloud",
			codes:   []gardencorev1beta1.ErrorCode{"ERR_INFRA_UNAUTHORIZED"},
		},
		{name: "1 extension condition Unknown", change: func(o *Observation) {
			report(o, kind, func(r *ExtensionReport) { r.Condition.Status = "Unknown" })
		}, condition: kind, reason: "ControlPlaneUnhealthyReport"},
		{
			name: "2 etcd missing", change: func(o *Observation) {
				o.Etcds.Items = nil
			}, condition: kind, reason: "EtcdMissing", message: "Missing required etcds: etcd-main",
		},
		{
			name: "2 etcd unhealthy", change: func(o *Observation) {
				o.Etcds.Items[0].Status.ReadyReplicas = 0
			}, condition: kind, reason: "EtcdUnhealthy", message: `Etcd "etcd-main" is unhealthy: 0 of 1 replicas are ready`,
		},
		{name: "2 etcd scaled down", change: func(o *Observation) {
			o.Etcds.Items[0].Spec.Replicas = ptr.To[int32](0)
		}, condition: kind, reason: "EtcdUnhealthy", message: `Etcd "etcd-main" is unhealthy: it is scaled to 0 replicas`},
		{name: "2 etcd not observed", change: func(o *Observation) {
			o.Etcds.Items[0].Generation = 3
		}, condition: kind, reason: "EtcdUnhealthy",
			message: `Etcd "etcd-main" is unhealthy: observed generation 2 is outdated, want 3`},
		{
			name: "3 required Deployments missing", change: func(o *Observation) {
				o.Deployments.Items = o.Deployments.Items[2:3]
			}, condition: kind,
			reason:  "DeploymentMissing",
			message: "Missing required deployments: kube-apiserver, kube-scheduler, machine-controller",
		},
		{
			name: "3 without workers fewer are required", change: func(o *Observation) {
				o.Shoot.Spec.Provider.Workers, o.Deployments.Items = nil, o.Deployments.Items[2:]
				o.Shoot.Status.Conditions = o.Shoot.Status.Conditions[:3]
			}, condition: kind, status: "True", reason: "ControlPlaneRunning",
		},
		{
			name: "3 Deployment unhealthy", change: component(func(d *appsv1.Deployment) {
				d.Status.Conditions[0].Status, d.Status.Conditions[0].Message = "False", "none ready"
			}), condition: kind,
			reason:  "DeploymentUnhealthy",
			message: `Deployment "kube-controller-manager" is unhealthy: condition "Available" is False: none ready`,
		},
		{name: "3 Deployment stuck", change: component(func(d *appsv1.Deployment) {
			d.Status.Conditions[1].Status = "False"
		}), condition: kind, reason: "DeploymentUnhealthy"},
		{
			name: "3 Deployment makes no pods", change: component(func(d *appsv1.Deployment) {
				d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: "ReplicaFailure",
					Status: "True"})
			}), condition: kind, reason: "DeploymentUnhealthy",
		},
		{name: "3 Deployment not looked at", change: component(func(d *appsv1.Deployment) {
			d.Status.Conditions = nil
		}), condition: kind, reason: "DeploymentUnhealthy",
			message: `Deployment "kube-controller-manager" is unhealthy: condition "Available" is missing`},
		{name: "3 Deployment not observed", change: component(func(d *appsv1.Deployment) {
			d.Generation = 3
		}), condition: kind, reason: "DeploymentUnhealthy"},
		{name: "3 Deployment scaled down", change: component(func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To[int32](0)
		}), condition: kind, reason: "DeploymentUnhealthy",
			message: `Deployment "kube-controller-manager" is unhealthy: it is scaled to 0 replicas`},
		{
			name: "4 scaled down by the dependency watchdog", change: component(func(d *appsv1.Deployment) {
				d.Spec.Replicas, d.Annotations = ptr.To[int32](0),
					map[string]string{"dependency-watchdog.gardener.cloud/meltdown-protection-active": ""}
			}),
			condition: kind, reason: "ControllersScaledDown",
			message: "The following deployments have been scaled down to 0 replicas by the dependency watchdog: " +
				"kube-controller-manager",
		},
		{name: "5 ManagedResource of the seed", change: managed("in-seed", func(c []gardencorev1beta1.Condition) {
			c[0].Status, c[0].Reason = "False", "ApplyFailed"
		}), condition: kind, reason: "ApplyFailed"},
		{name: "5 ManagedResource OutdatedStatus", change: func(o *Observation) {
			o.ManagedResources.Items[0].Generation = 2
		}, condition: kind, reason: "OutdatedStatus",
			message: `ManagedResource "ns/in-seed": observed generation 1 is outdated, want 2`},
		{name: "5 ManagedResource condition reason", change: managed("in-seed", func(c []gardencorev1beta1.Condition) {
			c[1].Status, c[1].Reason = "False", "PodUnhealthy"
		}), condition: kind, reason: "PodUnhealthy"},
		{name: "5 ManagedResource missing conditions", change: func(o *Observation) {
			o.ManagedResources.Items[0].Status.Conditions = o.ManagedResources.Items[0].Status.Conditions[:1]
		}, condition: kind, reason: "MissingManagedResourceCondition",
			message: `ManagedResource "in-seed" is missing the following condition(s): ResourcesHealthy, ResourcesProgressing`},
		{name: "5 ManagedResource RolloutStuck", change: managed("in-seed", func(c []gardencorev1beta1.Condition) {
			c[2].Status = "True"
		}), condition: kind, reason: "ProgressingRolloutStuck",
			message: `ManagedResource "in-seed" is progressing for more than 1h0m0s`},
		{
			name: "5 ManagedResource of the seed labelled ControlPlaneHealthy", change: func(o *Observation) {
				m := managedResource("labelled", ptr.To("seed"), string(kind))
				m.Status.Conditions[1].Status, m.Status.Conditions[1].Reason = "False", "Failing"
				o.ManagedResources.Items = append(o.ManagedResources.Items, m)
			}, condition: kind, reason: "Failing",
		},
		{
			name: "5 ManagedResource of the shoot counts elsewhere, whatever its label", change: func(o *Observation) {
				m := managedResource("labelled", nil, string(kind))
				m.Status.Conditions[1].Status = "False"
				o.ManagedResources.Items = append(o.ManagedResources.Items, m)
			}, condition: kind, status: "True", reason: "ControlPlaneRunning",
			also: []gardencorev1beta1.ConditionType{"SystemComponentsHealthy"},
		},
		{name: "the first failing check wins", change: func(o *Observation) {
			o.Etcds.Items, o.Deployments.Items = nil, nil
		}, condition: kind, reason: "EtcdMissing"},
		{name: "extensions not seen", change: func(o *Observation) {
			o.Extensions = Seen[ExtensionReport]{Err: errAway}
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError",
			message: "Could not read what the extensions report: away", also: conditionTypes[2:]},
		{
			name: "extensions not seen, but something is amiss", change: func(o *Observation) {
				o.Extensions, o.Etcds.Items = Seen[ExtensionReport]{Err: errAway}, nil
			}, condition: kind, reason: "EtcdMissing", also: conditionTypes[2:],
		},
		{name: "etcds not seen", change: func(o *Observation) {
			o.Etcds.Err = errAway
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError"},
		{name: "deployments not seen", change: func(o *Observation) {
			o.Deployments.Err = errAway
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError"},
	})
}

func managed(name string, change func([]gardencorev1beta1.Condition)) func(*Observation) {
	return func(o *Observation) {
		for i := range o.ManagedResources.Items {
			if o.ManagedResources.Items[i].Name == name {
				change(o.ManagedResources.Items[i].Status.Conditions)
			}
		}
	}
}

func TestObservabilityComponentsHealthy(t *testing.T) {
	t.Parallel()
	const kind = gardencorev1beta1.ShootObservabilityComponentsHealthy
	testChecks(t, []checkCase{
		{name: "ok", condition: kind, status: "True", reason: "ObservabilityComponentsRunning"},
		{
			name: "extension conditions", change: func(o *Observation) {
				o.Extensions.Items = append(o.Extensions.Items,
					ExtensionReport{Kind: "Extension", Heartbeat: &metav1.MicroTime{Time: noon},
						Condition: gardencorev1beta1.Condition{Type: kind, Status: "False"}})
			}, condition: kind, reason: "ExtensionUnhealthyReport",
		},
		{name: "deployment missing", change: func(o *Observation) {
			o.Monitoring.Items = nil
		}, condition: kind, reason: "DeploymentMissing",
			message: "Missing required monitoring deployments: kube-state-metrics"},
		{name: "deployment unhealthy", change: func(o *Observation) {
			o.Monitoring.Items[0].Status.Conditions[0].Status = "False"
		}, condition: kind, reason: "DeploymentUnhealthy"},
		{name: "ManagedResource labelled so", change: managed("watching", func(c []gardencorev1beta1.Condition) {
			c[1].Status, c[1].Reason = "False", "PodUnhealthy"
		}), condition: kind, reason: "PodUnhealthy"},
	})
}

func TestSystemComponentsHealthy(t *testing.T) {
	t.Parallel()
	const kind = gardencorev1beta1.ShootSystemComponentsHealthy
	nodesToo := []gardencorev1beta1.ConditionType{"EveryNodeReady"}
	testChecks(t, []checkCase{
		{name: "ok", condition: kind, status: "True", reason: "SystemComponentsRunning"},
		{name: "extension conditions", change: func(o *Observation) {
			report(o, kind, func(r *ExtensionReport) { r.Condition.Status = "False" })
		}, condition: kind, reason: "NetworkUnhealthyReport"},
		{
			name: "ManagedResource OutdatedStatus", change: func(o *Observation) {
				o.ManagedResources.Items[1].Generation = 2
			}, condition: kind,
			reason: "OutdatedStatus", message: `ManagedResource "ns/in-shoot": observed generation 1 is outdated, want 2`,
		},
		{
			name: "ManagedResource outdated because it cannot be applied", change: func(o *Observation) {
				o.ManagedResources.Items[1].Generation = 2
				managed("in-shoot", func(c []gardencorev1beta1.Condition) {
					c[0].Status, c[0].Reason, c[0].Message = "False", "ApplyFailed", "quota"
				})(o)
			}, condition: kind, reason: "ApplyFailed", message: `ManagedResource "ns/in-shoot": quota`,
		},
		{name: "ManagedResource condition reason", change: managed("in-shoot", func(c []gardencorev1beta1.Condition) {
			c[1].Status, c[1].Reason, c[1].Message = "Unknown", "CheckFailed", "no answer"
		}), condition: kind, reason: "CheckFailed", message: `ManagedResource "ns/in-shoot": no answer`},
		{name: "ManagedResource missing conditions", change: func(o *Observation) {
			o.ManagedResources.Items[1].Status.Conditions = nil
		}, condition: kind, reason: "MissingManagedResourceCondition",
			message: `ManagedResource "in-shoot" is missing the following condition(s): ResourcesApplied, ResourcesHealthy, ` +
				`ResourcesProgressing`},
		{name: "ManagedResource RolloutStuck", change: managed("in-shoot", func(c []gardencorev1beta1.Condition) {
			c[2].Status = "True"
		}), condition: kind, reason: "ProgressingRolloutStuck",
			message: `ManagedResource "in-shoot" is progressing for more than 1h0m0s`},
		{
			name: "ManagedResource progressing, not stuck yet",
			change: managed("in-shoot", func(c []gardencorev1beta1.Condition) {
				c[2].Status, c[2].LastTransitionTime = "True", ago(59*time.Minute)
			}), condition: kind, status: "True", reason: "SystemComponentsRunning",
		},
		{
			name: "ManagedResource of the seed labelled so", change: func(o *Observation) {
				m := managedResource("labelled", ptr.To("seed"), string(kind))
				m.Status.Conditions[1].Status, m.Status.Conditions[1].Reason = "False", "Failing"
				o.ManagedResources.Items = append(o.ManagedResources.Items, m)
			}, condition: kind, reason: "Failing",
		},
		{name: "DaemonSet not ready", change: func(o *Observation) {
			o.Cluster.DaemonSets.Items[0].Status.NumberReady = 1
		}, condition: kind, reason: "DaemonSetUnhealthy",
			message: `DaemonSet "kube-proxy" is unhealthy: 1 of 2 pods are ready`},
		{name: "DaemonSet not scheduled", change: func(o *Observation) {
			o.Cluster.DaemonSets.Items[0].Status.CurrentNumberScheduled = 1
		}, condition: kind, reason: "DaemonSetUnhealthy"},
		{name: "DaemonSet not observed", change: func(o *Observation) {
			o.Cluster.DaemonSets.Items[0].Generation = 3
		}, condition: kind, reason: "DaemonSetUnhealthy"},
		{name: "Deployment unhealthy", change: func(o *Observation) {
			o.Cluster.Deployments.Items[0].Status.Conditions[0].Status = "False"
		}, condition: kind, reason: "DeploymentUnhealthy"},
		{name: "StatefulSet unhealthy", change: func(o *Observation) {
			o.Cluster.StatefulSets.Items[0].Status.ReadyReplicas = 0
		}, condition: kind, reason: "StatefulSetUnhealthy"},
		{
			name: "TunnelConnectionBroken", change: func(o *Observation) {
				for i := range o.Cluster.NodeLeases.Items {
					o.Cluster.NodeLeases.Items[i].Spec.RenewTime = &metav1.MicroTime{Time: noon.Add(-time.Minute)}
				}
			}, condition: kind, reason: "TunnelConnectionBroken",
			message: "Tunnel connection has not been established: the leases of all nodes are expired (2/2)", also: nodesToo,
		},
		{
			name: "a tunnel that carries", change: func(o *Observation) {
				runPods(o)
				for i := range o.Cluster.NodeLeases.Items { // they say nothing of a tunnel that is measured
					o.Cluster.NodeLeases.Items[i].Spec.RenewTime = &metav1.MicroTime{Time: noon.Add(-time.Minute)}
				}
			}, condition: kind, reason: "SystemComponentsRunning", status: "True", also: nodesToo,
		},
		{
			name: "a tunnel that does not carry", change: func(o *Observation) {
				runPods(o)
				o.Cluster.Tunnel = &tunnel.BrokenError{Cause: errors.New("no route")}
			}, condition: kind, reason: "TunnelConnectionBroken",
			message: "Tunnel connection has not been established: no route",
		},
		{
			name: "no tunnel", change: func(o *Observation) {
				runPods(o)
				o.Cluster.Tunnel = tunnel.ErrNotDeployed
			}, condition: kind, reason: "NoTunnelDeployed",
		},
		{name: "a tunnel with one node at its end", change: func(o *Observation) {
			o.Cluster.NodeLeases.Items[0].Spec.RenewTime = nil
		}, condition: kind, status: "True", reason: "SystemComponentsRunning", also: nodesToo},
		{name: "nodes without leases say nothing about a tunnel", change: func(o *Observation) {
			o.Cluster.NodeLeases.Items = nil
		}, condition: kind, status: "True", reason: "SystemComponentsRunning"},
		{name: "a workerless shoot needs no tunnel", change: func(o *Observation) {
			o.Shoot.Spec.Provider.Workers = nil
			o.Cluster.NodeLeases.Items[0].Spec.RenewTime, o.Cluster.NodeLeases.Items[1].Spec.RenewTime = nil, nil
		}, condition: kind, status: "True", reason: "SystemComponentsRunning", also: nodesToo},
		{name: "not seen: tunnel", change: func(o *Observation) {
			o.Cluster.NodeLeases = Seen[coordinationv1.Lease]{Err: errAway}
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError",
			message: "Could not list the leases of the nodes: away", also: nodesToo},
		{name: "not seen: components", change: func(o *Observation) {
			o.Cluster.DaemonSets.Err = errAway
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError"},
		{name: "not seen: ManagedResources", change: func(o *Observation) {
			o.ManagedResources.Err = errAway
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError", also: conditionTypes[1:3]},
	})
}

// TestDaemonSetsMayRoll: a rollout takes pods down, as many as it may.
func TestDaemonSetsMayRoll(t *testing.T) {
	t.Parallel()
	d := daemonSet("d")
	d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstrOf("50%"))}
	d.Status.NumberReady = 1
	if problem := daemonSetProblem(&d); problem == "" {
		t.Error("nothing rolls, and yet a pod may be missing")
	}
	d.Status.UpdatedNumberScheduled = 1
	if problem := daemonSetProblem(&d); problem != "" {
		t.Error(problem)
	}
	d.Status.NumberReady = 0
	if problem := daemonSetProblem(&d); problem == "" {
		t.Error("more are missing than may be")
	}
}

func TestEveryNodeReady(t *testing.T) {
	t.Parallel()
	const kind = gardencorev1beta1.ShootEveryNodeReady
	tunnelToo := []gardencorev1beta1.ConditionType{"SystemComponentsHealthy"}
	first := func(change func(*corev1.Node)) func(*Observation) {
		return func(o *Observation) { change(&o.Cluster.Nodes.Items[0]) }
	}
	condition := func(t corev1.NodeConditionType, status corev1.ConditionStatus, reason string) func(*Observation) {
		return first(func(n *corev1.Node) {
			kept := slices.DeleteFunc(slices.Clone(n.Status.Conditions), func(c corev1.NodeCondition) bool {
				return c.Type == t
			})
			n.Status.Conditions = append(kept, corev1.NodeCondition{Type: t, Status: status, Reason: reason})
		})
	}
	testChecks(t, []checkCase{
		{name: "ok", condition: kind, status: "True", reason: "EveryNodeReady"},
		{name: "extension conditions (Worker)", change: func(o *Observation) {
			report(o, kind, func(r *ExtensionReport) { r.Condition.Status = "False" })
		}, condition: kind, reason: "WorkerUnhealthyReport"},
		{name: "NodeUnhealthy: not Ready", change: condition("Ready", "Unknown", "NodeStatusUnknown"), condition: kind,
			reason:  "NodeUnhealthy",
			message: `Node "a" in worker group "pool" is unhealthy: condition "Ready" is Unknown (NodeStatusUnknown)`},
		{name: "NodeUnhealthy: no condition Ready", change: first(func(n *corev1.Node) {
			n.Status.Conditions = nil
		}), condition: kind, reason: "NodeUnhealthy",
			message: `Node "a" in worker group "pool" is unhealthy: condition "Ready" is missing`},
		{name: "NodeUnhealthy: disk pressure", change: condition("DiskPressure", "True", "KubeletHasDiskPressure"),
			condition: kind, reason: "NodeUnhealthy", codes: []gardencorev1beta1.ErrorCode{"ERR_CONFIGURATION_PROBLEM"}},
		{name: "NodeUnhealthy: memory pressure", change: condition("MemoryPressure", "True", "KubeletHasInsufficientMemory"),
			condition: kind, reason: "NodeUnhealthy", codes: []gardencorev1beta1.ErrorCode{"ERR_CONFIGURATION_PROBLEM"}},
		{name: "NodeUnhealthy: pid pressure", change: condition("PIDPressure", "True", "KubeletHasInsufficientPID"),
			condition: kind, reason: "NodeUnhealthy", codes: []gardencorev1beta1.ErrorCode{"ERR_CONFIGURATION_PROBLEM"}},
		{name: "NodeUnhealthy: network", change: condition("NetworkUnavailable", "True", "NoRoute"), condition: kind,
			reason: "NodeUnhealthy"},
		{name: "VersionParseError", change: first(func(n *corev1.Node) {
			n.Status.NodeInfo.KubeletVersion = "new"
		}), condition: kind, reason: "VersionParseError"},
		{name: "KubeletVersionMismatch", change: first(func(n *corev1.Node) {
			n.Status.NodeInfo.KubeletVersion = "v1.36.2"
		}), condition: kind, reason: "KubeletVersionMismatch",
			message: `The kubelet version for node "a" (v1.36.2) does not match the desired Kubernetes version (v1.36.3)`},
		{name: "a pool of another minor version rolls", change: first(func(n *corev1.Node) {
			n.Status.NodeInfo.KubeletVersion = "v1.35.9"
		}), condition: kind, status: "True", reason: "EveryNodeReady"},
		{
			name: "a pool has its own version", change: func(o *Observation) {
				o.Shoot.Spec.Provider.Workers[0].Kubernetes = &gardencorev1beta1.WorkerKubernetes{Version: ptr.To("1.36.4")}
			}, condition: kind, reason: "KubeletVersionMismatch",
		},
		{name: "MissingNodes", change: func(o *Observation) {
			o.Cluster.Nodes.Items = o.Cluster.Nodes.Items[:1]
		}, condition: kind, reason: "MissingNodes",
			message: `Not enough worker nodes registered in worker pool "pool" to meet minimum desired machine count (1/2).`},
		{name: "OperatingSystemConfigOutdated", change: func(o *Observation) {
			o.Cluster.NodeConfigs.Items[0] = nodeConfig("2")
		}, condition: kind, reason: "OperatingSystemConfigOutdated",
			message: `The last successfully applied operating system config on node "a" is outdated`},
		{name: "OperatingSystemConfigOutdated: never applied", change: first(func(n *corev1.Node) {
			n.Annotations = nil
		}), condition: kind, reason: "OperatingSystemConfigOutdated"},
		{name: "nodes of an earlier key keep their configuration", change: first(func(n *corev1.Node) {
			n.Labels["worker.gardener.cloud/gardener-node-agent-secret-name"], n.Annotations = "gardener-node-agent-pool-w", nil
		}), condition: kind, status: "True", reason: "EveryNodeReady"},
		{name: "nodes that wait for their update in place", change: func(o *Observation) {
			o.Cluster.NodeConfigs.Items[0] = nodeConfig("2")
			o.Shoot.Status.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdatesStatus{
				PendingWorkerUpdates: &gardencorev1beta1.PendingWorkerUpdates{AutoInPlaceUpdate: []string{"pool"}}}
		}, condition: kind, status: "True", reason: "EveryNodeReady"},
		{name: "not seen: configurations of agents", change: func(o *Observation) {
			o.Cluster.NodeConfigs = Seen[corev1.Secret]{Err: errAway}
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError"},
		{name: "NodeAgentUnhealthy: never ran", change: func(o *Observation) {
			o.Cluster.NodeAgentLeases.Items = nil
		}, condition: kind, reason: "NodeAgentUnhealthy", message: `The node agent is not running on node "a"`},
		{name: "NodeAgentUnhealthy: stopped", change: func(o *Observation) {
			o.Cluster.NodeAgentLeases.Items[1].Spec.RenewTime.Time = noon.Add(-time.Minute)
		}, condition: kind, reason: "NodeAgentUnhealthy", message: `The node agent stopped running on node "b"`},
		{name: "a node that no machine controller looks after has no agent", change: func(o *Observation) {
			own := node("own")
			own.Annotations["node.machine.sapcloud.io/not-managed-by-mcm"] = "1"
			o.Cluster.Nodes.Items = append(o.Cluster.Nodes.Items, own)
		}, condition: kind, status: "True", reason: "EveryNodeReady"},
		{name: "SystemdUnitsNotReady", change: condition("SystemdUnitsReady", "False", ""), condition: kind,
			reason: "SystemdUnitsNotReady"},
		{name: "NodesScalingUp", change: func(o *Observation) {
			o.MachineDeployments.Items[0].Spec.Replicas = 3
		}, condition: kind, reason: "NodesScalingUp", message: "Not enough machine objects created yet (2/3)"},
		{name: "NodesRollOutScalingUp", change: first(func(n *corev1.Node) {
			n.Spec.Unschedulable = true
		}), condition: kind, reason: "NodesRollOutScalingUp",
			message: "Not enough ready worker nodes registered in the cluster (1/2)"},
		{name: "NodesScalingDown", change: func(o *Observation) {
			o.MachineDeployments.Items[0].Spec.Replicas = 1
		}, condition: kind, reason: "NodesScalingDown",
			message: "Too many worker nodes are registered. Exceeding maximum desired machine count (2/1)"},
		{name: "TooManyExpiredNodeLeases", change: func(o *Observation) {
			o.Cluster.NodeLeases.Items[0].Spec.RenewTime.Time = noon.Add(-time.Minute)
		}, condition: kind, reason: "TooManyExpiredNodeLeases",
			message: "50% of all leases in namespace kube-node-lease are expired"},
		{name: "leases of nodes that are gone do not count", change: func(o *Observation) {
			gone := lease("gone")
			gone.Spec.RenewTime = nil
			o.Cluster.NodeLeases.Items = append(o.Cluster.NodeLeases.Items, gone)
		}, condition: kind, status: "True", reason: "EveryNodeReady"},
		{name: "not seen: nodes", change: func(o *Observation) {
			o.Cluster.Nodes = Seen[corev1.Node]{Err: errAway}
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError", message: "Could not list the nodes: away",
			also: tunnelToo},
		{name: "not seen: leases", change: func(o *Observation) {
			o.Cluster.NodeLeases = Seen[coordinationv1.Lease]{Err: errAway}
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError", also: tunnelToo},
		{name: "not seen: leases of agents", change: func(o *Observation) {
			o.Cluster.NodeAgentLeases.Err = errAway
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError"},
		{name: "not seen: machines", change: func(o *Observation) {
			o.Machines.Err = errAway
		}, condition: kind, status: "Unknown", reason: "ConditionCheckError"},
		{name: "preserved failed machines are tolerated", change: func(o *Observation) {
			o.Machines.Items[0].Status.CurrentStatus.Phase = "Failed"
			o.Machines.Items[0].Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: noon.Add(time.Hour)}
			condition("Ready", "False", "")(o)
		}, condition: kind, status: "True", reason: "EveryNodeReady"},
	})
}
