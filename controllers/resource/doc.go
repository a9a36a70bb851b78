// Package resource is the resource manager of one shoot: it applies the ManagedResources without a class of a
// control-plane namespace to the shoot, takes off it what they no longer hold, and says in their status how the objects
// are (docs/specification/api.md#spec-1-10). It does not decide what is in a ManagedResource or whether its objects
// survive it: gardenlet and extensions do. ManagedResources of class seed are not its business.
package resource
