package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// Installation is what the chart of an extension renders for a seed.
type Installation struct {
	// Deployment is the extension's program.
	Deployment *appsv1.Deployment
	// Objects are all others, which a seed has before it starts.
	Objects []*unstructured.Unstructured
}

// programs are kinds whose pods would be programs beside the Deployment.
var programs = []string{"Pod", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController"}

// Install renders the chart of an extension for a seed, as the seed is in the garden.
func Install(e landscape.Extension, seed *gardencorev1beta1.Seed) (Installation, error) {
	read, err := Open(e.Chart)
	if len(e.ChartArchive) > 0 {
		read, err = Read(e.ChartArchive)
	}
	if err != nil {
		return Installation{}, err
	}
	values := []map[string]any{e.ChartValues}
	if e.Values != nil {
		given := map[string]any{}
		if err := json.Unmarshal(e.Values.Raw, &given); err != nil {
			return Installation{}, fmt.Errorf("read the values: %w", err)
		}
		values = append(values, given)
	}
	gardeners, err := gardenerValues(seed)
	if err != nil {
		return Installation{}, err
	}
	objects, err := read.Render(Release{
		Name: e.Name, Namespace: e.Namespace(), Kubernetes: landscape.Latest(landscape.Kubernetes()),
		Values: append(values, gardeners),
	})
	if err != nil {
		return Installation{}, err
	}
	i, err := split(objects)
	if err != nil {
		return Installation{}, err
	}
	return i, checkPod(i.Deployment, e.Files)
}

// GardenerVersion is what charts are rendered for: the one of docs/specification.
const GardenerVersion = "v1.150.0"

// gardenerValues are those that Gardener adds to the values of a chart: what it says of itself and of the seed.
func gardenerValues(seed *gardencorev1beta1.Seed) (map[string]any, error) {
	spec := seed.Spec
	volume, settings := ptr.Deref(spec.Volume, gardencorev1beta1.SeedVolume{}),
		ptr.Deref(spec.Settings, gardencorev1beta1.SeedSettings{})
	volumeProvider := ""
	if len(volume.Providers) > 0 {
		volumeProvider = volume.Providers[0].Name
	}
	content, err := json.Marshal(map[string]any{"gardener": map[string]any{
		"version":        GardenerVersion,
		"garden":         map[string]any{"clusterIdentity": landscape.Garden, "genericKubeconfigSecretName": ""},
		"gardenlet":      map[string]any{"featureGates": map[string]any{}},
		"runtimeCluster": map[string]any{"enabled": false},
		"seed": map[string]any{
			"name": seed.Name, "clusterIdentity": seed.Name, "annotations": seed.Annotations, "labels": seed.Labels,
			"provider": spec.Provider.Type, "region": spec.Provider.Region, "volumeProvider": volumeProvider,
			"volumeProviders": volume.Providers, "ingressDomain": ptr.Deref(spec.Ingress, gardencorev1beta1.Ingress{}).Domain,
			"protected": slices.ContainsFunc(spec.Taints, func(taint gardencorev1beta1.SeedTaint) bool {
				return taint.Key == "seed.gardener.cloud/protected"
			}),
			"visible": ptr.Deref(settings.Scheduling, gardencorev1beta1.SeedSettingScheduling{Visible: true}).Visible,
			"taints":  spec.Taints, "networks": spec.Networks, "blockCIDRs": spec.Networks.BlockCIDRs, "spec": spec,
		},
	}})
	values := map[string]any{}
	if err = errors.Join(err, json.Unmarshal(content, &values)); err != nil {
		return nil, fmt.Errorf("make values of seed %q for the chart: %w", seed.Name, err)
	}
	return values, nil
}

// split the objects into the one Deployment and all others.
func split(objects []*unstructured.Unstructured) (Installation, error) {
	var i Installation
	var deployments, others []string
	for _, object := range objects {
		switch kind := object.GetKind(); {
		case kind == "Deployment":
			deployments = append(deployments, object.GetName())
			i.Deployment = &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, i.Deployment); err != nil {
				return Installation{}, fmt.Errorf("read Deployment %q of the chart: %w", object.GetName(), err)
			}
		case slices.Contains(programs, kind):
			others = append(others, kind+" "+object.GetName())
		default:
			i.Objects = append(i.Objects, object)
		}
	}
	switch {
	case len(deployments) == 0:
		return Installation{}, errors.New("the chart renders no Deployment, and so no program: switch it on with values")
	case len(deployments) > 1:
		return Installation{}, fmt.Errorf("the chart renders the Deployments %s; an extension is one: switch the others "+
			"off with values, or give each an extension's file of its own", strings.Join(deployments, ", "))
	case len(others) > 0:
		return Installation{}, fmt.Errorf("the chart renders %s; an extension is one Deployment: switch it off with values",
			strings.Join(others, ", "))
	}
	return i, nil
}

// checkPod refuses what no pod of an extension can have, and what collides with the files that it gets.
func checkPod(deployment *appsv1.Deployment, files []landscape.ExtensionFile) error {
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return fmt.Errorf("the Deployment %q of the chart has no containers", deployment.Name)
	}
	refuse := func(what string, args ...any) error {
		return fmt.Errorf("the Deployment %q of the chart "+what+": switch it off with values",
			append([]any{deployment.Name}, args...)...)
	}
	for field, has := range map[string]bool{
		"hostNetwork": pod.HostNetwork, "hostPID": pod.HostPID, "hostIPC": pod.HostIPC} {
		if has {
			return refuse("has %s; no extension gets what is the node's", field)
		}
	}
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		if len(utilvalidation.IsDNS1123Label(c.Name)) > 0 {
			return fmt.Errorf("the Deployment %q of the chart has a container %q without a valid name", deployment.Name, c.Name)
		}
		for _, mount := range c.VolumeMounts {
			if taken := takenPath(path.Clean(mount.MountPath), files); taken != "" {
				return refuse("mounts %s in container %q, and the landscape has %s", mount.MountPath, c.Name, taken)
			}
		}
	}
	for _, volume := range pod.Volumes {
		if strings.HasPrefix(volume.Name, VolumePrefix) {
			return refuse("has a volume %q; names with %s are the landscape's", volume.Name, VolumePrefix)
		}
		if volume.HostPath != nil {
			return refuse("mounts %s of the node (volume %q); no extension gets that", volume.HostPath.Path, volume.Name)
		}
		if volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil
		}) {
			return refuse("mounts a token of its ServiceAccount (volume %q), which would lead past the link to the seed; "+
				"KUBECONFIG names a kubeconfig for it", volume.Name)
		}
	}
	return nil
}

// VolumePrefix begins the names of the volumes that an extension gets.
const VolumePrefix = "transplant-"

// takenPath is what the landscape has where a container would mount something else; empty for nothing. A file may be
// put into a folder that the chart mounts.
func takenPath(mount string, files []landscape.ExtensionFile) string {
	if folder := landscape.Reserved(mount); folder != "" {
		return "files of its own in " + folder
	}
	for _, file := range files {
		if mount == file.Path || strings.HasPrefix(mount, file.Path+"/") {
			return "the file " + file.Path + " of spec.files there"
		}
	}
	return ""
}
