// Package machine is the machine controller of one shoot: it turns MachineDeployments into MachineSets, those into
// Machines, and each Machine into a machine of the cloud that becomes a node of the shoot
// (docs/specification/api.md#spec-1-11, docs/specification/extensions.md#spec-3-7).
//
// A machine is found before it is made: by the id its Machine carries, else by its tags. So what was restored on
// another seed is taken as it is, an answer that was lost makes no second machine, and a machine that the restored
// state does not know is adopted, and not deleted within a quarantine period (docs/ownership.md#spec-9-2-machines). It
// calls the cloud only while the shoot's guard says that this seed owns the shoot.
//
// It reads without caches; informers only wake it. How many machines each set has during an update is in package
// rollingupdate. The controller does not decide how many machines there should be in all, nor from what: that is the
// Worker extension's.
package machine
