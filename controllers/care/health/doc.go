// Package health decides the conditions and constraints of a shoot's status, and the label with its overall status
// (docs/specification/care.md#spec-5). It is pure: what was seen goes in as an Observation with the time, the decision
// comes out. What could not be seen is unknown, never healthy and never unhealthy. The package asks no API server and
// writes nothing: that is for package care.
package health
