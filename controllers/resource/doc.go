// Package resource has the resource managers: that of one shoot applies the ManagedResources without a class of a
// control-plane namespace to the shoot, and that of a seed applies those of class seed to the seed. Both remove objects
// that ManagedResources no longer hold, and say in their status how the objects are
// (docs/specification/api.md#spec-1-10). They do not decide what is in a ManagedResource or whether its objects survive
// it: gardenlet and extensions do.
package resource
