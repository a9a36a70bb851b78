package processnode

import (
	"net/netip"
	"strings"
	"testing"
)

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
