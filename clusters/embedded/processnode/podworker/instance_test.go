package podworker

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestMailboxKeepsTheOrder(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	var got []int
	for i := range 3 {
		m.post(func() { got = append(got, i) })
	}
	<-m.full
	for _, work := range m.take() {
		work()
	}
	if diff := cmp.Diff([]int{0, 1, 2}, got); diff != "" {
		t.Error(diff)
	}
	select {
	case <-m.full:
		t.Error("an empty mailbox is full")
	default:
	}
}

func TestMayRestart(t *testing.T) {
	t.Parallel()
	always := ptr.To(corev1.ContainerRestartPolicyAlways)
	never := ptr.To(corev1.ContainerRestartPolicyNever)
	rule := corev1.ContainerRestartRule{
		Action: corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn,
			Values: []int32{42}},
	}
	for name, test := range map[string]struct {
		pod  corev1.RestartPolicy
		spec corev1.Container
		init bool
		code int32
		want bool
	}{
		"always":           {pod: corev1.RestartPolicyAlways, want: true},
		"on failure, good": {pod: corev1.RestartPolicyOnFailure},
		"on failure, bad":  {pod: corev1.RestartPolicyOnFailure, code: 1, want: true},
		"never":            {pod: corev1.RestartPolicyNever, code: 1},
		"init, good":       {pod: corev1.RestartPolicyAlways, init: true},
		"init, bad":        {pod: corev1.RestartPolicyAlways, init: true, code: 1, want: true},
		"sidecar": {pod: corev1.RestartPolicyNever, init: true,
			spec: corev1.Container{RestartPolicy: always}, want: true},
		"own policy": {pod: corev1.RestartPolicyAlways, spec: corev1.Container{RestartPolicy: never}, code: 1},
		"own rule": {pod: corev1.RestartPolicyAlways, spec: corev1.Container{RestartPolicy: never,
			RestartPolicyRules: []corev1.ContainerRestartRule{rule}}, code: 42, want: true},
		"own rule for other codes": {pod: corev1.RestartPolicyAlways, spec: corev1.Container{RestartPolicy: never,
			RestartPolicyRules: []corev1.ContainerRestartRule{rule}}, code: 41},
	} {
		i := newInstance(&pod{Node: &Node{}}, nil, &test.spec, test.init)
		i.ended = &corev1.ContainerStateTerminated{ExitCode: test.code}
		if got := i.mayRestart(test.pod); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// A container's logs may show more runs than the status that the API server has.
func TestRestoreRuns_StatusWasNeverReported_CountsLogs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	now := metav1.NewTime(time.Now())
	i := newInstance(&pod{Node: &Node{}}, nil, &corev1.Container{Name: "c"}, false)
	i.restoreRuns(folder, now)
	if i.runs != 0 || i.ended != nil {
		t.Errorf("without logs: %d runs, ended %v", i.runs, i.ended)
	}
	for _, name := range []string{"3.log", "10.log", "10.log.1", "termination-log"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i.restoreRuns(folder, now)
	if i.runs != 11 || i.ended == nil || i.ended.ExitCode != 255 {
		t.Errorf("with logs: %d runs, ended %v", i.runs, i.ended)
	}
	i.runs, i.ended = 12, nil
	if i.restoreRuns(folder, now); i.runs != 12 || i.ended != nil {
		t.Errorf("with a status that is newer: %d runs, ended %v", i.runs, i.ended)
	}
}
