package scenario_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// Kinds that users have defined are not known here, and are no mistakes. Nor is a condition about an operation that is
// not there yet.
func TestParse_UnknownKinds_AreFine(t *testing.T) {
	t.Parallel()
	cases := [][2]string{
		{cutOfRight, "crash: {actor: extensions-a, target: a, kind: Vault}"},
		{cutOfRight, "crash: {actor: extensions-a, target: a, kind: Secretz, group: vault.example}"},
		{cutOfRight, "crash: {actor: extensions-a, target: a, kind: ShootState}"},
		{cutOfRight, "staleList: {actor: extensions-a, target: a, kind: INFRASTRUCTURE}"},
		{cutOfRight, "loseObject: {cluster: a, apiVersion: vault.example/v1, kind: Secretz, name: s}"},
		{"shoot('alpha').seed == 'b'",
			"shoot('alpha').lastOperation.type == '' || shoot('alpha').maintenance.state == '' || 'Error' != " +
				"shoot('alpha').lastOperation.state"},
	}
	for _, kind := range []string{"VerticalPodAutoscaler", "APIService", "Etcd", "Gateway", "Certificate", "ManagedSeed",
		"PrometheusRule", "Bastion", "Database", "Application"} {
		cases = append(cases, [2]string{cutOfRight, "crash: {actor: extensions-a, target: a, kind: " + kind + "}"})
	}
	for _, c := range cases {
		if _, err := scenario.Parse("f", []byte(strings.Replace(right, c[0], c[1], 1))); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
	}
}
