package fit_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/sim/fit"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const known = "known are loadBalancer, conditions"
	for text, want := range map[string]string{
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","creationTimestamp":null},` +
			`"spec":{"ports":[{"port":80,"targetPort":"http"}]}}`: "",

		`{"speck":{}}`: `speck: unknown field; did you mean "spec"? ` +
			`known are kind, apiVersion, metadata, spec, status`,
		`{"Spec":{}}`: `Spec: unknown field; did you mean "spec"? known ` +
			`are kind, apiVersion, metadata, spec, status`,
		`{"status":{"ponies":1,"zebras":2}}`: "status.ponies: unknown field; " + known +
			"; status.zebras: unknown field; " + known,
		`{"status":3}`: "status: is 3; must be a mapping with " +
			"loadBalancer, conditions",
		`{"metadata":{"labels":{"a":1}}}`: "metadata.labels.a: is 1; must be a string, in quotes",
		`{"metadata":{"labels":[]}}`:      "metadata.labels: is a list; must be a mapping",
		`{"metadata":{"generation":1.5}}`: "metadata.generation: is 1.5; must be a whole number",
		`{"metadata":{"creationTimestamp":"soon"}}`: `metadata.creationTimestamp: is "soon"; ` +
			`parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"`,
		`{"spec":{"ports":{}}}`: "spec.ports: is a mapping; must be a list",
		`{"spec":{"ports":[{},{"port":3e12}]}}`: "spec.ports[1].port: is 3000000000000; " +
			"must be from -2147483648 to 2147483647",
		`{"spec":{"publishNotReadyAddresses":"true"}}`: "spec.publishNotReadyAddresses: is \"true\"; " +
			"must be true or false, without quotes",
		`{"spec":{"sessionAffinityConfig":{"clientIP":{"timeout":1}}}}`: `spec.sessionAffinityConfig.clientIP.timeout: ` +
			`unknown field; known are timeoutSeconds`,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		found := fit.Find(value, reflect.TypeFor[*corev1.Service]())
		if diff := cmp.Diff(want, found.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
