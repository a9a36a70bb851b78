package processnode

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := backoff{base: time.Second, max: 5 * time.Second}
	for round := range 2 {
		var got []time.Duration
		for range 6 {
			got = append(got, b.next())
		}
		want := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
		b.reset()
	}
}

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
		i := newInstance(&node{}, &test.spec, test.init)
		i.ended = &corev1.ContainerStateTerminated{ExitCode: test.code}
		if got := i.mayRestart(test.pod); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestStatusPatch leaves alone what others have written since, and what has not changed.
func TestStatusPatch(t *testing.T) {
	t.Parallel()
	from := &corev1.PodStatus{Phase: corev1.PodPending, HostIP: "127.0.0.1", Conditions: []corev1.PodCondition{
		{Type: "others.dev/gate", Status: corev1.ConditionFalse},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse},
	}}
	to := from.DeepCopy()
	to.Phase = corev1.PodRunning
	to.Conditions[0].Status, to.Conditions[1].Status = corev1.ConditionTrue, corev1.ConditionTrue
	content, err := statusPatch("u", from, to)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"uid": "u"},
		"status": map[string]any{
			"phase":                       "Running",
			"$setElementOrder/conditions": []any{map[string]any{"type": "Ready"}},
			"conditions":                  []any{map[string]any{"type": "Ready", "status": "True"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	c := Config{Kubeconfig: "k", Name: "n", Address: netip.MustParseAddr("10.0.0.1"),
		Pods:     netip.MustParsePrefix("127.1.64.0/18"),
		Services: netip.MustParsePrefix("127.1.128.0/18"), LoadBalancers: netip.MustParsePrefix("10.1.0.0/16"), RootDir: "r",
		ServingCert: "c", ServingKey: "k"}
	err := c.complete()
	for _, want := range []string{
		"flag --client-ca is missing", `flag --address: "10.0.0.1" is not in 127.0.0.0/8`,
		`flag --load-balancer-cidr: "10.1.0.0/16" is not in 127.0.0.0/8`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	command := NewCommand()
	command.SetArgs([]string{"--image=nothing"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(),
		`"nothing" is not NAME=DIR`) {
		t.Errorf("got %v", err)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	named := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "a", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "secret-volume"}}},
			{Name: "b", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: named("map-volume")}}},
			{Name: "c", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: "claim"}}},
			{Name: "d", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{Name: "e", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{
					{Secret: &corev1.SecretProjection{LocalObjectReference: named("projected-secret")}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("projected-map")}},
				}}}},
		},
		InitContainers: []corev1.Container{
			{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("env-from")}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named("key")},
		}}}}},
	}}
	for object, want := range map[reference]bool{
		{kindSecret, "secret-volume"}: true, {kindConfigMap, "map-volume"}: true, {kindClaim, "claim"}: true,
		{kindClaim, "p-d"}:               true,
		{kindSecret, "projected-secret"}: true, {kindConfigMap, "projected-map"}: true, {kindSecret, "env-from"}: true,
		{kindConfigMap, "key"}: true,
		{kindSecret, "key"}:    false, {kindConfigMap, "secret-volume"}: false, {kindSecret, ""}: false,
	} {
		if got := refersTo(pod, object); got != want {
			t.Errorf("%v: got %t", object, got)
		}
	}
}

// A container's logs may show more runs than the status that the API server has.
func TestRestoreRuns_StatusWasNeverReported_CountsLogs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	now := metav1.NewTime(time.Now())
	i := newInstance(&node{}, &corev1.Container{Name: "c"}, false)
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
