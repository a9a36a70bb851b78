// Package diagnosis says, while a landscape or a shoot comes up, what does not: which container of which actor ends
// again and again or cannot be started, and which object no extension answers. It asks the API servers alone, so that
// it says the same on every backend.
//
// It judges no run and follows none: that is for oracles, and for the probe that records the ends of actors. It knows
// no names of actors either; the world knows them.
package diagnosis
