// Package metrics counts what is on a timeline, for Prometheus: while a run goes on, and afterwards from its record. It
// measures nothing anew; a run that is over gives the same numbers as while it went on.
//
// Labels are bounded by what a scenario file names: its shoots, seeds and faults, the actors of the landscape, and the
// closed sets of kinds, outcomes and phases. Nothing that is numbered (writes, nodes, requests, epochs) is a label.
// README.md beside this file lists all metrics, and says how past runs are loaded into a Prometheus.
package metrics
