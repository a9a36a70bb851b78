// Package timeline is the record of a run: events in the order in which they were noted, one JSON document per line.
//
// Probes, steps and links write it; oracles, measures, reports and live views read it. It judges nothing, filters
// nothing and knows neither clusters nor scenarios: what is not on the timeline has not been seen.
package timeline
