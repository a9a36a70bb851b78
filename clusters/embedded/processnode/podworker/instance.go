package podworker

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/backoff"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
)

// instance is one container of a pod over all its restarts. It belongs to the pod's worker.
type instance struct {
	pod     *pod
	sandbox *sandbox

	spec    *corev1.Container
	isInit  bool
	sidecar bool // an init container that stays

	// Of the current run.
	process     *container.Process // nil unless it runs
	starting    bool               // being started, elsewhere
	stopping    bool               // asked to end
	id          string
	environment *podenv.Environment
	log         *containerlog.Log
	startedAt   time.Time
	started     bool // its startup probe has succeeded, or it has none
	ready       bool
	endProbes   context.CancelFunc // and hooks

	// Of earlier runs, and why it does not run.
	waiting     *corev1.ContainerStateWaiting    // nil unless something is worth saying
	ended       *corev1.ContainerStateTerminated // how the run before this one, or the last one, has ended
	endedBefore *corev1.ContainerStateTerminated // and the one before that
	runs        int                              // started so far, in all lives of this node
	crash       backoff.Delay
	notBefore   time.Time // when it may be started again

	image       imageWait
	configRetry time.Time // when to look again for what its configuration refers to
}

func newInstance(p *pod, s *sandbox, spec *corev1.Container, isInit bool) *instance {
	return &instance{
		pod: p, sandbox: s, spec: spec, isInit: isInit,
		sidecar: isInit && spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways,
		crash:   backoff.Delay{Base: p.RestartBackoff, Max: p.MaxRestartBackoff},
		image:   imageWait{backoff: backoff.Delay{Base: 10 * time.Second, Max: 5 * time.Minute, Failed: true}},
	}
}

func (i *instance) alive() bool { return i.process != nil || i.starting }

// done says whether an init container has done its work.
func (i *instance) done() bool {
	return !i.alive() && i.ended != nil && i.ended.ExitCode == 0
}

// restartCount is what the status shows.
func (i *instance) restartCount() int32 { return int32(max(0, i.runs-1)) }

// mayRestart says whether the container is to run again after it has ended.
func (i *instance) mayRestart(policy corev1.RestartPolicy) bool {
	if i.sidecar {
		return true
	}
	if i.spec.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*i.spec.RestartPolicy)
		for _, rule := range i.spec.RestartPolicyRules {
			if rule.ExitCodes != nil && matches(rule.ExitCodes, i.ended.ExitCode) {
				return rule.Action == corev1.ContainerRestartRuleActionRestart
			}
		}
	}
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return i.ended.ExitCode != 0
	}
	// An init container that has succeeded is not run again, whatever the policy.
	return !i.isInit || i.ended.ExitCode != 0
}

func matches(codes *corev1.ContainerRestartRuleOnExitCodes, code int32) bool {
	listed := false
	for _, value := range codes.Values {
		listed = listed || value == code
	}
	return listed == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}

// containers are those of a pod.
type containers struct {
	init []*instance // in order; sidecars are among them
	main []*instance
}

// all lists the containers, init containers first.
func (c *containers) all() []*instance {
	return append(append(make([]*instance, 0, len(c.init)+len(c.main)), c.init...), c.main...)
}

func (c *containers) find(name string) *instance {
	for _, i := range c.all() {
		if i.spec.Name == name {
			return i
		}
	}
	return nil
}

// forgetInit lets the init containers run again before the main ones, as in a new sandbox.
func (c *containers) forgetInit() {
	for _, i := range c.init {
		if i.done() {
			i.ended = nil
		}
	}
}
