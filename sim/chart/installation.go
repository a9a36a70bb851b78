package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

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

// Install renders the chart of an extension for a seed.
func Install(e landscape.Extension, seed string) (Installation, error) {
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
	objects, err := read.Render(Release{
		Name: e.Name, Namespace: e.Namespace(), Kubernetes: landscape.Latest(landscape.Kubernetes()),
		Values: append(values, gardenerValues(seed)),
	})
	if err != nil {
		return Installation{}, err
	}
	return split(objects)
}

// gardenerVersion is what charts are rendered for.
const gardenerVersion = "v1.142.0"

// gardenerValues are those that Gardener adds to the values of a chart: what it says of itself and of the seed.
func gardenerValues(seed string) map[string]any {
	return map[string]any{"gardener": map[string]any{
		"version":        gardenerVersion,
		"garden":         map[string]any{"clusterIdentity": landscape.Garden, "genericKubeconfigSecretName": ""},
		"gardenlet":      map[string]any{"featureGates": map[string]any{}},
		"runtimeCluster": map[string]any{"enabled": false},
		"seed": map[string]any{
			"name": seed, "clusterIdentity": seed, "annotations": map[string]any{}, "labels": map[string]any{},
			"provider": landscape.ProviderType, "region": landscape.Home, "volumeProvider": "",
			"volumeProviders": []any{}, "ingressDomain": "", "protected": false, "visible": true, "taints": []any{},
			"networks": map[string]any{}, "blockCIDRs": []any{},
			"spec": map[string]any{"provider": map[string]any{"type": landscape.ProviderType, "region": landscape.Home}},
		},
	}}
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
	return i, checkPod(i.Deployment)
}

// checkPod refuses what no pod of an extension can have.
func checkPod(deployment *appsv1.Deployment) error {
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return fmt.Errorf("the Deployment %q of the chart has no containers", deployment.Name)
	}
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		if len(utilvalidation.IsDNS1123Label(c.Name)) > 0 {
			return fmt.Errorf("the Deployment %q of the chart has a container %q without a valid name", deployment.Name, c.Name)
		}
	}
	for _, volume := range pod.Volumes {
		if volume.HostPath != nil {
			return fmt.Errorf("the Deployment %q of the chart mounts %s of the node (volume %q); no extension gets that: "+
				"switch it off with values", deployment.Name, volume.HostPath.Path, volume.Name)
		}
	}
	return nil
}
