package resource

import "strconv"

// FieldOwner is the name under which the objects are applied. It is the same on every seed, so that the objects of a
// shoot that has moved are taken over without a change.
const FieldOwner = "gardener-resource-manager"

// FieldOwnerInSeed is the name under which the objects of class seed are applied. It is not that of a shoot's resource
// manager: what is left of them in a control-plane namespace is an extension's.
const FieldOwnerInSeed = "resource-manager"

// Annotations of objects in the manifests.
const (
	// annotationMode says how an object is dealt with; modeIgnore releases it.
	annotationMode = "resources.gardener.cloud/mode"
	modeIgnore     = "Ignore"
	// annotationDeleteOnInvalidUpdate lets an object be made anew when it does not take an update.
	annotationDeleteOnInvalidUpdate = "resources.gardener.cloud/delete-on-invalid-update"
	// annotationPreserveReplicas leaves the number of replicas of an object as it is in the shoot.
	annotationPreserveReplicas = "resources.gardener.cloud/preserve-replicas"
	// annotationKeepObject keeps an object in the shoot when it or its ManagedResource goes.
	annotationKeepObject = "resources.gardener.cloud/keep-object"
	// annotationSkipHealthCheck leaves an object out of the conditions.
	annotationSkipHealthCheck = "resources.gardener.cloud/skip-health-check"
)

// Annotations and values that are set on objects in the shoot.
const (
	// annotationOrigin is the ManagedResource that an object is from.
	annotationOrigin = "resources.gardener.cloud/origin"
	// annotationDescription warns people.
	annotationDescription = "resources.gardener.cloud/description"
	description           = "This object is managed by a resource manager: changes to it are overwritten."
	// managedByGardener is the value of the label of all applied objects.
	managedByGardener = "gardener"
)

// isTrue reports whether an annotation is set to a true value.
func isTrue(annotations map[string]string, key string) bool {
	value, err := strconv.ParseBool(annotations[key])
	return err == nil && value
}
