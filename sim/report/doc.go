// Package report shows a run to people: one HTML page per run that needs nothing but itself, a page that compares
// runs, and what the browser needs to follow a run that goes on.
//
// It is a view of what lies in the run's folder (timeline.jsonl, verdict.json, scenario.yaml) and measures and judges
// nothing anew. A picture is made of rows; what is on them is computed here, and the page draws no more of it than
// there is room for, so that a run of many events is shown as fast as a short one.
package report
