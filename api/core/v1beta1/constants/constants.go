// Package constants has the well-known labels, annotations, finalizers and names of the Gardener wire API
// (docs/specification/api.md#spec-1-12) and the few that are ours (docs/ownership.md#spec-9). It is not the place for
// settings: periods and limits belong to the package that uses them.
package constants

// Annotations that steer operations.
const (
	// GardenerOperation asks a controller for an operation; the controller removes it.
	GardenerOperation = "gardener.cloud/operation"
	// GardenerOperationReconcile asks for an ordinary reconciliation.
	GardenerOperationReconcile = "reconcile"
	// GardenerOperationMigrate asks an extension to release an object without touching what it stands for.
	GardenerOperationMigrate = "migrate"
	// GardenerOperationRestore asks an extension to restore an object from its saved state.
	GardenerOperationRestore = "restore"
	// GardenerOperationWaitForState asks an extension to wait until the saved state is there.
	GardenerOperationWaitForState = "wait-for-state"

	// GardenerTimestamp is set together with GardenerOperation so that the object changes in any case: RFC3339Nano on
	// extension objects, RFC3339 on ShootStates.
	GardenerTimestamp = "gardener.cloud/timestamp"

	// GardenerMaintenanceOperation lists operations for the next maintenance window, joined with ";".
	GardenerMaintenanceOperation = "maintenance.gardener.cloud/operation"
	// OperationsSeparator joins several operations of one annotation.
	OperationsSeparator = ";"

	// ConfirmationDeletion guards against accidental deletion.
	ConfirmationDeletion = "confirmation.gardener.cloud/deletion"
	// ConfirmationForceDeletion asks for deletion although the infrastructure cannot be cleaned up.
	ConfirmationForceDeletion = "confirmation.gardener.cloud/force-deletion"

	// GardenerPurpose says what an object is for.
	GardenerPurpose = "gardener.cloud/purpose"
	// GardenerPurposeMachineClass is the purpose of the Secrets of MachineClasses.
	GardenerPurposeMachineClass = "machineclass"
	// GardenerPurposeKubeSystem is the purpose of the namespace kube-system.
	GardenerPurposeKubeSystem = "kube-system"
	// GardenerWarning is a warning for whoever looks at an object.
	GardenerWarning = "gardener.cloud/warning"
)

// Operations of a Shoot, values of GardenerOperation and GardenerMaintenanceOperation.
const (
	// ShootOperationReconcile reconciles the Shoot.
	ShootOperationReconcile = "reconcile"
	// ShootOperationRetry retries a Failed operation.
	ShootOperationRetry = "retry"
	// ShootOperationMaintain starts maintenance now.
	ShootOperationMaintain = "maintain"
	// ShootOperationRotateCredentialsStart begins the rotation of all credentials.
	ShootOperationRotateCredentialsStart = "rotate-credentials-start"
	// ShootOperationRotateCredentialsStartWithoutWorkersRollout is the same without rolling the workers.
	ShootOperationRotateCredentialsStartWithoutWorkersRollout = "rotate-credentials-start-without-workers-rollout"
	// ShootOperationRotateCredentialsComplete ends the rotation of all credentials.
	ShootOperationRotateCredentialsComplete = "rotate-credentials-complete"
	// ShootOperationRotateCAStart begins the rotation of the certificate authorities.
	ShootOperationRotateCAStart = "rotate-ca-start"
	// ShootOperationRotateCAStartWithoutWorkersRollout is the same without rolling the workers.
	ShootOperationRotateCAStartWithoutWorkersRollout = "rotate-ca-start-without-workers-rollout"
	// ShootOperationRotateCAComplete ends the rotation of the certificate authorities.
	ShootOperationRotateCAComplete = "rotate-ca-complete"
	// ShootOperationRotateServiceAccountKeyStart begins the rotation of the service account key.
	ShootOperationRotateServiceAccountKeyStart = "rotate-serviceaccount-key-start"
	// ShootOperationRotateServiceAccountKeyComplete ends the rotation of the service account key.
	ShootOperationRotateServiceAccountKeyComplete = "rotate-serviceaccount-key-complete"
	// ShootOperationRotateETCDEncryptionKey rotates the key that encrypts etcd.
	ShootOperationRotateETCDEncryptionKey = "rotate-etcd-encryption-key"
	// ShootOperationRotateObservabilityCredentials rotates the observability passwords.
	ShootOperationRotateObservabilityCredentials = "rotate-observability-credentials"
	// ShootOperationRotateSSHKeypair rotates the nodes' SSH key.
	ShootOperationRotateSSHKeypair = "rotate-ssh-keypair"
	// ShootOperationRolloutWorkers rolls the pools named behind it, separated by commas.
	ShootOperationRolloutWorkers = "rollout-workers"
	// ShootOperationForceInPlaceUpdate changes a pool although an in-place update is still going on.
	ShootOperationForceInPlaceUpdate = "force-in-place-update"
)

// Annotations and labels of Shoots.
const (
	// ShootTasks lists switches for one run of the flow, separated by commas.
	ShootTasks = "shoot.gardener.cloud/tasks"
	// ShootTaskDeployInfrastructure deals with the infrastructure although it has not changed.
	ShootTaskDeployInfrastructure = "deployInfrastructure"
	// ShootTaskDeployDNSRecordInternal deals with the internal DNS record although it has not changed.
	ShootTaskDeployDNSRecordInternal = "deployDNSRecordInternal"
	// ShootTaskDeployDNSRecordExternal deals with the external DNS record although it has not changed.
	ShootTaskDeployDNSRecordExternal = "deployDNSRecordExternal"
	// ShootTaskDeployDNSRecordIngress deals with the ingress DNS record although it has not changed.
	ShootTaskDeployDNSRecordIngress = "deployDNSRecordIngress"
	// ShootTaskRestartControlPlanePods restarts the pods of the control plane.
	ShootTaskRestartControlPlanePods = "restartControlPlanePods"
	// ShootTaskRestartCoreAddons restarts the system components.
	ShootTaskRestartCoreAddons = "restartCoreAddons"

	// ShootStatus is the label with the overall status: healthy, progressing, unhealthy or unknown
	// (docs/specification/care.md#spec-5-10).
	ShootStatus = "shoot.gardener.cloud/status"
	// ShootIgnore stops all operations on a Shoot.
	ShootIgnore = "shoot.gardener.cloud/ignore"
	// ShootSyncPeriod overrides how often a Shoot is reconciled.
	ShootSyncPeriod = "shoot.gardener.cloud/sync-period"
	// ShootSkipReadiness skips the waits of one operation.
	ShootSkipReadiness = "shoot.gardener.cloud/skip-readiness"
	// ShootSkipCleanup skips the clean-up of a shoot in deletion (docs/specification/cleanup.md#spec-6-5).
	ShootSkipCleanup = "shoot.gardener.cloud/skip-cleanup"
	// ShootNoCleanup is the label of objects that clean-up leaves alone.
	ShootNoCleanup = "shoot.gardener.cloud/no-cleanup"
	// ShootCleanupWebhooksFinalizeGracePeriodSeconds overrides a period of clean-up.
	ShootCleanupWebhooksFinalizeGracePeriodSeconds = "shoot.gardener.cloud/cleanup-webhooks-finalize-grace-period-seconds"
	// ShootCleanupExtendedAPIsFinalizeGracePeriodSeconds overrides a period of clean-up.
	ShootCleanupExtendedAPIsFinalizeGracePeriodSeconds = "shoot.gardener.cloud/" +
		"cleanup-extended-apis-finalize-grace-period-seconds"
	// ShootCleanupKubernetesResourcesFinalizeGracePeriodSeconds overrides a period of clean-up.
	ShootCleanupKubernetesResourcesFinalizeGracePeriodSeconds = "shoot.gardener.cloud/" +
		"cleanup-kubernetes-resources-finalize-grace-period-seconds"
	// ShootCleanupKubernetesResourcesStartTime is the annotation of a shoot's namespace with when its clean-up began.
	ShootCleanupKubernetesResourcesStartTime = "shoot.gardener.cloud/cleanup-kubernetes-resources-start-time"
	// ShootNeedsRetryOperation lets maintenance retry a Failed Shoot.
	ShootNeedsRetryOperation = "maintenance.shoot.gardener.cloud/needs-retry-operation"
	// MaintainedWindow is the begin (RFC3339) of the latest occurrence of the time window in which the Shoot was
	// maintained.
	MaintainedWindow = "maintenance.transplant.dev/window"
	// WorkersRolledOut says when worker pools were rolled last because somebody asked for it
	// (ShootOperationRolloutWorkers): a JSON object of times by the names of pools. Who takes a time away rolls the pool
	// once more.
	WorkersRolledOut = "rollout.transplant.dev/workers"
	// ShootForceRestore allows a restore without the help of the source seed (docs/ownership.md#spec-9-3).
	ShootForceRestore = "shoot.gardener.cloud/force-restore"

	// MigrationLiveMigrate asks for a migration without downtime.
	MigrationLiveMigrate = "migration.gardener.cloud/live-migrate"
	// MigrationAllowDistantRegions allows migration between distant regions.
	MigrationAllowDistantRegions = "migration.gardener.cloud/allow-distant-regions"
)

// Annotations and labels of Seeds and of what belongs to them.
const (
	// LabelPrefixSeedName, followed by a seed's name, is the label by which gardenlets select their objects.
	LabelPrefixSeedName = "name.seed.gardener.cloud/"
	// ShootEmergencyStopReconciliations on a Seed stops the operations on its shoots.
	ShootEmergencyStopReconciliations = "shoot.gardener.cloud/emergency-stop-reconciliations"
	// BackupEntryForceDeletion deletes a BackupEntry without grace period.
	BackupEntryForceDeletion = "backupentry.core.gardener.cloud/force-deletion"
)

// Labels of objects in clusters.
const (
	// GardenRole is what an object is in a landscape.
	GardenRole = "gardener.cloud/role"
	// GardenRoleShoot is the role of a shoot's namespace in the seed.
	GardenRoleShoot = "shoot"
	// ProjectName is the label with a project's name on its namespace.
	ProjectName = "project.gardener.cloud/name"
	// ShootName is the label with a shoot's name.
	ShootName = "shoot.gardener.cloud/name"
	// LabelApp is the label with a component's name.
	LabelApp = "app"
	// LabelRole is the label with a component's role.
	LabelRole = "role"

	// CareConditionType names the condition that an object counts for.
	CareConditionType = "care.gardener.cloud/condition-type"
	// ExcludeWebhookFromRemediation is the label of webhook configurations that remediation leaves alone.
	ExcludeWebhookFromRemediation = "remediation.webhook.shoot.gardener.cloud/exclude"
	// CredentialsBindingStatus is the label of CredentialsBindings that maintenance made.
	CredentialsBindingStatus = "credentialsbinding.gardener.cloud/status"

	// NodeCriticalComponent is the label of what must be ready before a node takes pods
	// (docs/specification/nodes-and-seeds.md#spec-7-1).
	NodeCriticalComponent = "node.gardener.cloud/critical-component"
	// TaintNodeCriticalComponentsNotReady keeps pods off a node until its critical components are ready.
	TaintNodeCriticalComponentsNotReady = "node.gardener.cloud/critical-components-not-ready"
	// NodeWaitForCSINodePrefix, followed by any name, is the annotation with a CSI driver to be waited for.
	NodeWaitForCSINodePrefix = "node.gardener.cloud/wait-for-csi-node-"
	// WorkerPool is the label with the pool on nodes.
	WorkerPool = "worker.gardener.cloud/pool"
	// NodeAgentSecretName is the label of nodes with the name of the Secret in kube-system that their agent follows
	// (docs/specification/versions.md#spec-4-8).
	NodeAgentSecretName = "worker.gardener.cloud/gardener-node-agent-secret-name"
	// ChecksumNodeConfig is the annotation of such a Secret with the checksum of the configuration in it.
	ChecksumNodeConfig = "checksum/data-script"
	// ChecksumAppliedNodeConfig is the annotation of nodes with the checksum of the configuration that was applied last.
	ChecksumAppliedNodeConfig = "checksum/cloud-config-data"
)

// Labels of generated Secrets.
const (
	// Persist is the label of Secrets that go into the ShootState.
	Persist = "persist"
	// ManagedBy is the label with who looks after a Secret.
	ManagedBy = "managed-by"
	// ManagedBySecretsManager is the value of ManagedBy on generated Secrets.
	ManagedBySecretsManager = "secrets-manager"
	// SecretName is the label with the name that a generated Secret is asked for.
	SecretName = "name"
	// LastRotationInitiationTime is the label with the rotation that a Secret belongs to.
	LastRotationInitiationTime = "last-rotation-initiation-time"
	// ValidUntilTime is the label with when a certificate ends, unix seconds.
	ValidUntilTime = "valid-until-time"
	// LabelTrue is the value of labels and annotations that are switches.
	LabelTrue = "true"
)

// Finalizers.
const (
	// GardenerFinalizer is that of Shoots, BackupBuckets and BackupEntries.
	GardenerFinalizer = "gardener"
	// ShootStateFinalizer protects a ShootState while it matters.
	ShootStateFinalizer = "core.gardener.cloud/shootstate"
	// FinalizerManagedResource is that of ManagedResources.
	FinalizerManagedResource = "resources.gardener.cloud/gardener-resource-manager"
	// FinalizerMachineControllerManager is that of MachineDeployments, MachineSets and Machines.
	FinalizerMachineControllerManager = "machine.sapcloud.io/machine-controller-manager"
	// FinalizerMachineController is that of MachineClasses and their Secrets.
	FinalizerMachineController = "machine.sapcloud.io/machine-controller"
)
