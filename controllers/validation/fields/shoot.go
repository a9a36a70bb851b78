package fields

import (
	"slices"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

const (
	removed33 = "not with Kubernetes 1.33 and later"
	removed35 = "not with Kubernetes 1.35 and later"

	toWorker    = "handed to the Worker extension; neither the reference extension nor the simulated cloud acts on it"
	gates       = "feature gates that the Kubernetes version knows"
	qualifiedOK = "the key of a label"
	rangeRule   = "the range of an IPv4 network, which overlaps with no other"
	volumeRule  = "a usable type of the CloudProfile that the pool's zones have"
)

func shootRows() Table {
	return slices.Concat(shootMetadata(), shootGeneral(), shootKubernetes(), shootWorkers(),
		kubeletRows("spec.kubernetes.kubelet"), kubeletRows("spec.provider.workers[].kubernetes.kubelet"))
}

func shootMetadata() Table {
	annotation := func(key string) string { return annotationsPath + "[" + key + "]" }
	const truth, seconds = `"true" or "false"`, "a number of seconds, 0 or more; it may be above the default"
	return Table{
		checked("metadata.name", `a DNS label without "--", of at most 21 characters with the name of the project`),
		free("metadata.namespace", "the API server checks that it exists"),
		free("metadata.labels", "admission corrects those about seeds; all others are free"),
		free("metadata.annotations", "annotations that are not listed here are free"),
		checked(annotation(constants.GardenerOperation),
			"operations of a shoot, joined with \";\"; pools that are to roll must exist; of rotations "+
				"only that of the SSH key pair"),
		checked(annotation(constants.GardenerMaintenanceOperation),
			"operations that a maintenance can ask for, joined with \";\"; of rotations only that of the SSH key pair"),
		checked(annotation(constants.ShootTasks), "tasks of a shoot, joined with \",\""),
		checked(annotation(constants.ShootIgnore), truth),
		checked(annotation(constants.ShootSyncPeriod), "a duration of 1s or more"),
		checked(annotation(constants.ShootSkipCleanup), truth),
		checked(annotation(constants.ShootForceRestore), truth),
		checked(annotation(constants.ShootNeedsRetryOperation), `"true" or "false", or another boolean such as "1"`),
		checked(annotation(constants.ConfirmationDeletion), truth+`; "true" before the shoot can be deleted`),
		checked(annotation(constants.ConfirmationForceDeletion), truth),
		checked(annotation(constants.ShootCleanupWebhooksFinalizeGracePeriodSeconds), seconds),
		checked(annotation(constants.ShootCleanupExtendedAPIsFinalizeGracePeriodSeconds), seconds),
		checked(annotation(constants.ShootCleanupKubernetesResourcesFinalizeGracePeriodSeconds), seconds),
		free(annotation(constants.ShootSkipReadiness), "only its presence counts"),
		free(annotation(constants.MaintainedWindow), "written by controllers; unreadable values are ignored"),
		free(annotation(constants.WorkersRolledOut), "written by controllers; unreadable values are ignored"),
		ignored(annotation(constants.MigrationLiveMigrate)),
		ignored(annotation(constants.MigrationAllowDistantRegions)),
	}
}

func shootGeneral() Table {
	return Table{
		checked("spec.accessRestrictions[].name", "an access restriction of the region in the CloudProfile, each once"),
		ignored("spec.accessRestrictions[].options"),
		checkedButIgnored("spec.addons", removed35),
		checked("spec.cloudProfile.kind", "CloudProfile"),
		checked("spec.cloudProfile.name", "a CloudProfile that exists; immutable"),
		checked("spec.cloudProfileName", "a CloudProfile that exists; immutable"),
		{
			Path: "spec.controlPlane.highAvailability.failureTolerance.type", Rule: "node or zone; immutable once set",
			Warning: "only seeds are chosen by it; control planes have one replica of each component",
		},
		checked("spec.credentialsBindingName", "the name of an object; must not be unset"),
		checked("spec.secretBindingName",
			"the name of an object; not together with credentialsBindingName, the only field that may replace it"),
		checked("spec.dns.domain",
			"a DNS name that a provider or a seed serves, not overlapping with another shoot's; immutable once set"),
		checked("spec.dns.providers[].credentialsRef.apiVersion", "v1"),
		checked("spec.dns.providers[].credentialsRef.kind", "Secret"),
		checked("spec.dns.providers[].credentialsRef.name", "the name of an object"),
		ignored("spec.dns.providers[].domains"),
		checked("spec.dns.providers[].primary",
			"true for one provider at most, and only with a domain; immutable with the domain"),
		checked("spec.dns.providers[].secretName",
			"the name of an object, the same as in credentialsRef if that is set; "+removed35),
		checked("spec.dns.providers[].type", "the name of a type; immutable for the primary provider"),
		ignored("spec.dns.providers[].zones.exclude"),
		checked("spec.dns.providers[].zones.include[]",
			"not empty, each once; immutable for the primary provider"),
		checked("spec.exposureClassName", "a DNS label"),
		free("spec.extensions[].disabled", eitherWay),
		free("spec.extensions[].providerConfig", handedOn),
		checked("spec.extensions[].type", "the name of an object, each once"),
		checked("spec.hibernation.enabled", "not true while the constraint HibernationPossible exists and is not True"),
		checked("spec.hibernation.schedules[].end",
			"a cron expression of five fields that matches some time and is not start"),
		checked("spec.hibernation.schedules[].location", "a time zone of the IANA database"),
		checked("spec.hibernation.schedules[].start",
			"a cron expression of five fields that matches some time; start or end is required"),
		checkedButIgnored("spec.maintenance.autoRotation.credentials.etcdEncryptionKey.rotationPeriod", "30m to 90d, or 0"),
		checkedButIgnored("spec.maintenance.autoRotation.credentials.observability.rotationPeriod", "30m to 90d, or 0"),
		checked("spec.maintenance.autoRotation.credentials.sshKeypair.rotationPeriod", "30m to 90d, or 0"),
		free("spec.maintenance.autoUpdate.kubernetesVersion", eitherWay),
		free("spec.maintenance.autoUpdate.machineImageVersion", eitherWay),
		free("spec.maintenance.confineSpecUpdateRollout", eitherWay),
		checked("spec.maintenance.timeWindow.begin", "HHMMSS+ZZZZ"),
		checked("spec.maintenance.timeWindow.end", "HHMMSS+ZZZZ, 30m to 6h after begin"),
		ignored("spec.monitoring"),
		checked("spec.networking.ipFamilies[]", "IPv4"),
		checked("spec.networking.nodes",
			rangeRule+", of /24 or larger; cannot be set later, and is immutable"),
		{
			Path: "spec.networking.pods", Rule: rangeRule + "; immutable once set",
			Warning: "only seeds are chosen by it; pods on simulated nodes are always in 100.96.0.0/11",
			Unless:  "100.96.0.0/11", Simulated: true,
		},
		free("spec.networking.providerConfig", handedOn),
		checked("spec.networking.services", rangeRule+"; immutable once set"),
		checked("spec.networking.type", "the name of a type; immutable"),
		free("spec.provider.controlPlaneConfig", handedOn),
		free("spec.provider.infrastructureConfig", handedOn),
		checked("spec.provider.type", "the type of the CloudProfile; immutable"),
		free("spec.provider.workersSettings.sshAccess.enabled", eitherWay),
		checked("spec.purpose", "evaluation, testing, development, production or infrastructure"),
		checked("spec.region", "one of the CloudProfile; immutable"),
		checked("spec.resources[].name", "not empty, each once"),
		checked("spec.resources[].resourceRef.apiVersion", "v1"),
		checked("spec.resources[].resourceRef.kind", "Secret or ConfigMap"),
		checked("spec.resources[].resourceRef.name", "the name of an object"),
		checked("spec.schedulerName", "the name of a scheduler"),
		checked("spec.seedName", "a seed that fits, and only when the shoot may move; must not be unset"),
		checked("spec.seedSelector.matchExpressions[].key", qualifiedOK),
		checked("spec.seedSelector.matchExpressions[].operator", "In, NotIn, Exists or DoesNotExist"),
		checked("spec.seedSelector.matchExpressions[].values[]", "values that fit the operator"),
		checked("spec.seedSelector.matchLabels{}", "labels"),
		checked("spec.seedSelector.providerTypes[]", "not empty, each once"),
		ignored("spec.systemComponents.coreDNS"),
		ignored("spec.systemComponents.nodeLocalDNS"),
		checked("spec.systemComponents.nodeLocalDNS.enabled", "immutable while pools are updated in place"),
		checked("spec.tolerations[].key",
			qualifiedOK+" that the whitelist of the project or the landscape has, each once with its value"),
		checked("spec.tolerations[].value", "the value of a label that the whitelist has"),
	}
}

func shootKubernetes() Table {
	return Table{
		ignored("spec.kubernetes.clusterAutoscaler"),
		checkedButIgnored("spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete", removed33),
		ignored("spec.kubernetes.etcd"),
		ignored("spec.kubernetes.kubeAPIServer"),
		checkedButIgnored("spec.kubernetes.kubeAPIServer.admissionPlugins[].name",
			"a plugin that the Kubernetes version knows, each once"),
		checkedButIgnored("spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication", removed35),
		checkedButIgnored("spec.kubernetes.kubeAPIServer.featureGates{}", gates),
		checkedButIgnored("spec.kubernetes.kubeAPIServer.watchCacheSizes.default", removed35),
		ignored("spec.kubernetes.kubeControllerManager"),
		checkedButIgnored("spec.kubernetes.kubeControllerManager.featureGates{}", gates),
		checkedButIgnored("spec.kubernetes.kubeControllerManager.podEvictionTimeout", removed33),
		ignored("spec.kubernetes.kubeProxy"),
		free("spec.kubernetes.kubeProxy.enabled", "it decides whether nodes have kube-proxy"),
		checkedButIgnored("spec.kubernetes.kubeProxy.featureGates{}", gates),
		ignored("spec.kubernetes.kubeScheduler"),
		checkedButIgnored("spec.kubernetes.kubeScheduler.featureGates{}", gates),
		checkedButIgnored("spec.kubernetes.kubeScheduler.kubeMaxPDVols", removed35),
		checked("spec.kubernetes.version",
			"one that the CloudProfile offers, no downgrade, no minor version skipped"),
		ignored("spec.kubernetes.verticalPodAutoscaler"),
	}
}

// kubeletRows are the settings by which nodes roll, and those that the simulated nodes do not have.
func kubeletRows(path string) Table {
	rows := Table{
		ignored(path),
		checked(path+".cpuManagerPolicy", "none or static"),
		checkedButIgnored(path+".featureGates{}", gates),
	}
	for _, name := range []string{"imageFSAvailable", "imageFSInodesFree", "memoryAvailable", "nodeFSAvailable",
		"nodeFSInodesFree"} {
		rows = append(rows, checked(path+".evictionHard."+name, "a quantity, or a percentage up to 100%"))
	}
	for _, of := range []string{"kubeReserved", "systemReserved"} {
		for _, name := range []string{"cpu", "ephemeralStorage", "memory", "pid"} {
			rows = append(rows, checked(path+"."+of+"."+name, "0 or more"))
		}
	}
	return rows
}

func shootWorkers() Table {
	const pool = "spec.provider.workers[]"
	const machines = pool + ".machineControllerManager"
	return Table{
		checked(pool+".annotations{}", "annotations whose keys are not reserved"),
		ignored(pool + ".caBundle"),
		warned(pool+".clusterAutoscaler", toWorker),
		checked(pool+".controlPlane", "not set: there are no self-hosted shoots"),
		free(pool+".cri.containerRuntimes[].providerConfig", handedOn),
		checked(pool+".cri.containerRuntimes[].type", "a DNS label, each once, which the image has"),
		checked(pool+".cri.name", "containerd"),
		warned(pool+".dataVolumes[].encrypted", toWorker),
		{Path: pool + ".dataVolumes[].name", Rule: "a DNS label, each once", Warning: toWorker},
		{Path: pool + ".dataVolumes[].size", Rule: "a quantity above 0, at least that of the volume type",
			Warning: toWorker},
		{Path: pool + ".dataVolumes[].type", Rule: volumeRule, Warning: toWorker},
		{Path: pool + ".kubeletDataVolumeName", Rule: "the name of a data volume", Warning: toWorker},
		checked(pool+".kubernetes.version",
			"one that the CloudProfile offers, at most three minor versions below the control plane's"),
		checked(pool+".labels{}", "labels whose keys are not reserved"),
		checked(pool+".machine.architecture", "amd64 or arm64; the one of the machine type, which the image has"),
		checked(pool+".machine.image.name", "an image of the CloudProfile"),
		free(pool+".machine.image.providerConfig", handedOn),
		checked(pool+".machine.image.version", "a version of the image that fits the pool"),
		checked(pool+".machine.type", "a usable type of the CloudProfile that the pool's zones have"),
		ignored(machines + ".autoPreserveFailedMachineMax"),
		free(machines+".disableHealthTimeout", eitherWay),
		checked(machines+".inPlaceUpdateTimeout", "above 0s"),
		checked(machines+".machineCreationTimeout", "above 0s"),
		checked(machines+".machineDrainTimeout", "0s or more"),
		checked(machines+".machineHealthTimeout", "above 0s"),
		warned(machines+".machinePreserveTimeout", "handed to the machine controller, which keeps no failed machines"),
		checked(machines+".maxEvictRetries", "0 or more"),
		checked(machines+".nodeConditions[]", "types of conditions, each once"),
		checked(pool+".maxSurge", "a number of machines or a percentage"),
		checked(pool+".maxUnavailable", "a number of machines or a percentage; not 0 if maxSurge is 0"),
		checked(pool+".maximum",
			"0 or more, and not above the limit of the CloudProfile; above 0 in one pool at least"),
		checked(pool+".minimum", "0 or more, and not above maximum"),
		checked(pool+".name", "a DNS label of at most 15 characters, each once"),
		warned(pool+".priority", toWorker),
		free(pool+".providerConfig", handedOn),
		ignored(pool + ".sysctls"),
		{
			Path: pool + ".systemComponents.allow", Rule: "not false in every pool",
			Warning: "accepted; only taints keep pods off a pool here", Unless: true,
		},
		checked(pool+".taints[].effect", "NoSchedule, PreferNoSchedule or NoExecute"),
		checked(pool+".taints[].key", qualifiedOK+" that is not reserved; each once with its effect"),
		ignored(pool + ".taints[].timeAdded"),
		checked(pool+".taints[].value", "the value of a label"),
		checked(pool+".updateStrategy",
			"AutoRollingUpdate; in-place strategies only if the operators enable them; no change between rolling and in place"),
		free(pool+".volume.encrypted", "both values are supported; a change rolls the nodes"),
		checked(pool+".volume.name", "a DNS label"),
		checked(pool+".volume.size",
			"a quantity above 0, at least that of the volume type or of the machine type's disk"),
		checked(pool+".volume.type", volumeRule),
		checked(pool+".zones[]",
			"zones of the region in the CloudProfile, each once; new ones come after the existing ones"),
	}
}
