// Package gateway is the entry of a seed: clients outside reach the API servers of its shoots by name, through one
// load balancer (docs/specification/nodes-and-seeds.md#spec-7-4).
//
// It routes TLS connections by the name in their ClientHello to the Service kube-apiserver of the shoot's namespace,
// and never ends TLS itself. For each shoot it is a holder of ownership validity (docs/ownership.md#spec-9-1,
// docs/ownership.md#o2): every chunk is checked on the last hop to the client, and connections are cut when the
// validity lapses or the route goes.
//
// It knows neither shoots nor Gardener: a route is a Service with the annotation
// networking.transplant.dev/sni-hosts in a namespace labelled gardener.cloud/role=shoot, beside a Service
// etcd-main-client whose guard is asked, with the certificate in the Secret guard-client-gateway.
package gateway
