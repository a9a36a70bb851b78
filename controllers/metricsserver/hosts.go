package metricsserver

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
)

// NameHosts has the requests of a program to API servers counted (rest_client_requests_total) by what these are, in
// place of by their hosts: each shoot has one of its own, so that the series of who speaks with shoots would grow with
// those that there have been. Garden and seed are nil where the program has no client of them; all others are shoots'.
// It is for the start of a program, before it has clients, and once.
func NameHosts(garden, seed *rest.Config) error {
	roles := map[string]string{}
	for role, config := range map[string]*rest.Config{"garden": garden, "seed": seed} {
		if config == nil {
			continue
		}
		url, _, err := rest.DefaultServerUrlFor(config)
		if err != nil {
			return fmt.Errorf("parse the address of the %s %q: %w", role, config.Host, err)
		}
		roles[url.Host] = role
	}
	// client-go takes a metric once only, and has taken that of controller-runtime.
	metrics.RequestResult = &byRole{counted: metrics.RequestResult, roles: roles}
	return nil
}

type byRole struct {
	counted metrics.ResultMetric
	roles   map[string]string // by host
}

var _ metrics.ResultMetric = &byRole{}

// Increment implements metrics.ResultMetric.
func (b *byRole) Increment(ctx context.Context, code, method, host string) {
	b.counted.Increment(ctx, code, method, cmp.Or(b.roles[host], "shoot"))
}
