package resource

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ object, unhealthy, progressing string }{
		"a ConfigMap": {"{apiVersion: v1, kind: ConfigMap}", "", ""},
		"a good Deployment": {
			"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}, status: " +
				"{observedGeneration: 2, replicas: 1, updatedReplicas: 1, conditions: [{type: Available, status: 'True'}]}}", "",
			""},
		"a new Deployment": {"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}}",
			"generation 0, not 2", "generation 0, not 2"},
		"a rolling Deployment": {
			"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}, status: {replicas: 2, updatedReplicas: 1, " +
				"conditions: [{type: Available, status: 'True'}]}}", "", "1 replicas are of an earlier revision"},
		"a StatefulSet": {
			"{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}, status: {readyReplicas: 1, updatedReplicas: 2}}",
			"1 of 2 ready replicas", ""},
		"a DaemonSet": {
			"{apiVersion: apps/v1, kind: DaemonSet, status: {desiredNumberScheduled: 3, currentNumberScheduled: 3, " +
				"updatedNumberScheduled: 3, numberUnavailable: 1}}", "1 of its pods", ""},
		"a failed Job": {
			"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True', message: broke}]}}",
			"it failed: broke", ""},
		"a pending Pod": {"{apiVersion: v1, kind: Pod, status: {phase: Pending}}", "it is Pending", ""},
		"a Service":     {"{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}", "no address yet", ""},
		"a definition": {
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, " +
				"status: 'True'}]}}", "not established", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(c.object), &object.Object); err != nil {
				t.Fatal(err)
			}
			got, err := stateOf(object)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []struct{ got, want string }{{got.unhealthy, c.unhealthy}, {got.progressing, c.progressing}} {
				if (part.got == "") != (part.want == "") || !strings.Contains(part.got, part.want) {
					t.Errorf("got %q, want %q", part.got, part.want)
				}
			}
		})
	}
}
