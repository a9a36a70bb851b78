package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/sim/logs"
)

// namesWithin bounds the question whose pods are on a cluster. A cluster that does not answer keeps its logs, by other
// names.
const namesWithin = 5 * time.Second

// logWriter is a landscape whose logs are in its run directory once WriteLogs was called.
type logWriter interface{ WriteLogs(context.Context) }

var _ logWriter = &kind.Landscape{}

// KeepLogs copies the logs of a landscape into a folder, by names that people know.
func KeepLogs(ctx context.Context, l Landscape, folder string) error {
	if writer, writes := l.(logWriter); writes {
		writer.WriteLogs(ctx)
	}
	return copyLogs(l.Dir(), namesOf(ctx, l), folder)
}

// podNames are what the logs of pods are called, by cluster and UID.
type podNames map[string]map[string]string

// namesOf all pods that can be asked for.
func namesOf(ctx context.Context, l Landscape) podNames {
	all := podNames{}
	for _, c := range l.Clusters() {
		all[c.Name()] = namesOn(ctx, l, c.Name())
	}
	return all
}

func namesOn(ctx context.Context, l Landscape, cluster string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, namesWithin)
	defer cancel()
	names := map[string]string{}
	observer, err := ObserverClient(l, cluster)
	if err != nil {
		return names
	}
	pods := &corev1.PodList{}
	if err := observer.List(ctx, pods, CachedList()); err != nil {
		return names
	}
	// The newest pod of an actor has its name; those that were before it have their UIDs behind that.
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	taken := map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		name := nameOf(cluster, pod)
		if taken[name] {
			name = fmt.Sprintf("%s@%.8s", name, pod.UID)
		}
		taken[name] = true
		names[string(pod.UID)] = name
	}
	return names
}

// nameOf the logs of a pod: the actor, or a folder of the shoot's with the pod in it. Anybody else's have the pod's
// name.
func nameOf(cluster string, pod *corev1.Pod) string {
	switch owner, known := (Owners{}).OwnerOf(cluster, pod); {
	case !known:
		return filepath.Join(pod.Namespace, pod.Name)
	case owner.Shoot != "":
		return filepath.Join("shoot-"+owner.Shoot, pod.Name)
	default:
		return owner.Actor
	}
}

// CopyLogs copies the logs of a landscape that has not come up into a folder, from its run directory.
func (s *Environment) CopyLogs(dir rundir.Dir, folder string) error {
	return copyLogs(dir, s.named, folder)
}

// copyLogs that are in a run directory:
//
//	<process>.log                               of no cluster
//	<cluster>/<process>.log                     the cluster's own
//	<cluster>/<actor>[.previous].log
//	<cluster>/shoot-<name>/<pod>[-<container>][.previous].log
func copyLogs(dir rundir.Dir, names podNames, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of logs: %w", err)
	}
	errs := []error{copyProcesses(dir.Join("logs"), folder)}
	clusters, err := filepath.Glob(dir.Join("clusters", "*"))
	errs = append(errs, err)
	for _, cluster := range clusters {
		to := filepath.Join(folder, filepath.Base(cluster))
		errs = append(errs, copyProcesses(filepath.Join(cluster, "logs"), to))
		pods, err := filepath.Glob(filepath.Join(cluster, "pods", "*"))
		errs = append(errs, err)
		for _, pod := range pods {
			errs = append(errs, copyPod(pod, to, names[filepath.Base(cluster)][filepath.Base(pod)]))
		}
	}
	return errors.Join(errs...)
}

func copyProcesses(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.log"))
	errs := []error{err}
	for _, file := range files {
		errs = append(errs, logs.Keep(filepath.Join(to, filepath.Base(file)), process.Older(file), file))
	}
	return errors.Join(errs...)
}

// copyPod copies the last two runs of every container. Without a name it is called by its UID.
func copyPod(pod, to, name string) error {
	containers, err := filepath.Glob(filepath.Join(pod, "containers", "*"))
	errs := []error{err}
	for _, container := range containers {
		file := filepath.Join(to, cmp.Or(name, fmt.Sprintf("pod-%.8s", filepath.Base(pod))))
		if len(containers) > 1 || name == "" {
			file += "-" + filepath.Base(container)
		}
		runs := runsIn(container)
		for i, behind := range []string{".log", ".previous.log"} {
			if at := len(runs) - 1 - i; at >= 0 {
				path := filepath.Join(container, strconv.Itoa(runs[at])+".log")
				errs = append(errs, logs.Keep(file+behind, path+".1", path)) // a node cuts long logs in two
			}
		}
	}
	return errors.Join(errs...)
}

// runsIn are the numbers of the runs of which there are logs, in order.
func runsIn(container string) []int {
	files, _ := filepath.Glob(filepath.Join(container, "*.log")) // the pattern is good
	var runs []int
	for _, file := range files {
		if n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".log")); err == nil {
			runs = append(runs, n)
		}
	}
	slices.Sort(runs)
	return runs
}
