// Package webhooks judges the admission webhooks that users put into their shoots: which of them stand in the way of
// waking up or maintaining the cluster (docs/specification/care.md#spec-5-5, docs/specification/care.md#spec-5-6), and
// how they are changed so that they no longer do (docs/specification/care.md#spec-5-7).
//
// It is pure: configurations in, verdicts and changed configurations out. It reads and writes no cluster, and it does
// not know whether remediation is switched on.
package webhooks
