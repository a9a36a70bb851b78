// Command storage provisions the volumes of a node's default StorageClass: folders of the node, open to every user, as
// kindest/node has them. It runs beside the kubelet on nodes that are clusters of their own; on one of several nodes it
// would only serve its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// name is that of the StorageClass's provisioner.
const name = "transplant.dev/node-folder"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the cluster's credentials")
	folder := flag.String("folder", "/var/lib/volumes", "folder of the volumes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.Fatalf("read the kubeconfig %q: %v", *kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		klog.Fatalf("make a client: %v", err)
	}
	host, err := os.Hostname()
	if err != nil {
		klog.Fatalf("find the node's name: %v", err)
	}
	controller.NewProvisionController(ctx, client, name, &folders{root: *folder, node: host},
		controller.LeaderElection(false)).Run(ctx)
}

// folders makes and removes volumes below root.
type folders struct{ root, node string }

var _ controller.Provisioner = &folders{}

// Provision makes a folder, and a volume that is pinned to this node.
func (f *folders) Provision(_ context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume,
	controller.ProvisioningState, error) {
	// The folder says whose it is, as those of kindest/node do: what is left of it is found by that.
	path := filepath.Join(f.root, strings.Join([]string{options.PVName, options.PVC.Namespace, options.PVC.Name}, "_"))
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningNoChange, fmt.Errorf("make the folder of volume %q: %w", options.PVName, err)
	}
	if err := os.Chmod(path, 0o777); err != nil { // whatever the umask is
		return nil, controller.ProvisioningNoChange, fmt.Errorf("open the folder of volume %q: %w", options.PVName, err)
	}
	directory := corev1.HostPathDirectory
	here := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn,
		Values: []string{f.node}}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: options.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path,
				Type: &directory}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{here}}},
			}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes a volume's folder.
func (f *folders) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	if volume.Spec.HostPath == nil || filepath.Dir(volume.Spec.HostPath.Path) != filepath.Clean(f.root) {
		return fmt.Errorf("remove the folder of volume %q: it is not below %q", volume.Name, f.root)
	}
	if err := os.RemoveAll(volume.Spec.HostPath.Path); err != nil {
		return fmt.Errorf("remove the folder of volume %q: %w", volume.Name, err)
	}
	return nil
}
