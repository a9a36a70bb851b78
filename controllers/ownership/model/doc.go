// Package model is the ownership protocol of docs/ownership.md as a small state machine, and a checker that walks
// through everything it can do. Its tests say that the rules suffice, and that each of them is needed: taken out, it
// yields a shortest trace in which a promise fails (go test -v -run Rule prints them all). It is not the code: it
// shares no line with package ownership, so that the two can disagree. When they do, this one is mended first.
//
// # How to read it
//
// rules.go lists the rules and the promises, state.go the state, model.go the bounds and who may act. The steps
// follow the rules:
//
//	world.go     time, a garden that goes back, spec.seedName, deletion
//	             ownership/retire.go, controlplane/ownership.go
//	guard.go     reads, fence, grants, final snapshot, what is left
//	             ownership/validity/{guard,observe,follow,fence,grants,holder}.go, etcd/guard/end.go
//	request.go   what passes, and who judges it
//	             ownership/validity/{term,conn}.go, etcd/guard/proxy.go, controllers/gateway
//	rest.go      calls of the cloud where no guard runs
//	             extension/fence/{fence,decided}.go, migrate.noteEnd
//	takeover.go  take-over, wait, start, manifest
//	             ownership/takeover.go, startLocked in observe.go, etcd/backup/manifest.go
//	progress.go  what must go well once the faults are over
//	check.go     breadth-first search
//
// A step is one atomic change by one party. A seat is one seed's part in the shoot: guard, holder, gardenlet. Whoever
// is slow, frozen, stopped or cut off from an authority is a seat that takes no step while time passes, for any length
// of time and at any point: these faults need no steps of their own. A crash, a write whose answer is lost, a garden
// that goes back and a changed binding have one.
//
// The modes of a seat have the names of the phases of docs/adr/0018-tenure.md. Hibernated is Begun too. A seat that is
// idle is in None, Ended or Saved; a trace says in which, and of which epoch.
//
// Time is counted in ticks of real time. Drift is taken at its worst: validity lasts as long as it can on a slow clock
// (Validity+Drift) and W as short as on a fast one. What lasts shorter is a seat that does not use it, or a crash.
//
// # What is left out
//
//   - Durations: nothing is said about 30 s and 5 s, only about what has to be longer than what. That W as configured
//     covers the drift is arithmetic (docs/ownership.md#spec-9-2-wait), and tested in package ownership.
//   - Staleness and the end of a send (σ, δ) are zero: records are read linearizably, and checking and sending are one
//     step. An answer that stalls after the check arrives later and breaks nothing more.
//   - Both records are read in one step before the writes; compare-and-set would find out what came between.
//   - A seat has one guard, one holder for gateway and controllers alike, one request and one ownership message under
//     way, and either a guard or a take-over: a seed finishes the one before the other (docs/ownership.md#o10). Where a
//     shoot is created anew, the sleeping guard of the old and the take-over of the new are two seats of one seed.
//   - Where no guard runs, a controller's read of DNS and its look for a guard after it are one step. A guard that
//     another owner has fenced waits for just what was read before it began; the code waits the bound. That everybody
//     has released the shoot is a condition of the step of a planned end; in the code the flow of a migration sees to
//     it, or the bound for a guard that had served.
//   - A resumed validity after a restart (boot id) is a restart that did not happen.
//   - Backups are manifests and final snapshots; deltas, and writes that no final snapshot saved (RPO), are not
//     counted. A bucket that is out of reach is a step that is not taken.
//   - Data is removed only with its final snapshot or after a newer start. The code waits for that snapshot with a
//     bound while the guard is silent (migration.endPatience), and then says that something may be lost.
//   - At most one write of a crashed take-over is still on its way, and it is compared by value: the code compares
//     versions, which is stricter.
//   - The heal of the claim asks for validity only, not for DNS to have given it: the code does less than the model.
//   - That one lost authority stops nobody is no rule to take out; the promise GoesOn checks it. The early end of a
//     wait for a retired record is used, and nothing else is known about deletion.
//   - Bounds: two seeds, three epochs (four with a deletion). The benchmark has three seeds.
package model
