package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// metricsPort is the name of a container port that serves metrics. Where a pod has several, the name of the container
// follows, after a hyphen.
const metricsPort = "metrics"

func newScrapeTargets() *cobra.Command {
	var flags landscapeFlag
	var address string
	command := flags.command("scrape-targets", "Serve a landscape's scrape targets for Prometheus",
		func(ctx context.Context, command *cobra.Command, dir rundir.Dir, _ []string) error {
			state, err := readState(dir)
			if err != nil {
				return err
			}
			if state.Backend == rundir.Kind {
				return fmt.Errorf("list the scrape targets of the landscape %q: it is on kind, where only a pod's node "+
					"knows its address", dir.Name)
			}
			ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return serveTargets(ctx, address, dir, func(url string) {
				fmt.Fprintf(command.OutOrStdout(), "The scrape targets of the landscape %s are served at %s until interrupted.\n",
					dir.Name, url)
			})
		})
	command.Long = `Serve a landscape's scrape targets for Prometheus, in the form of its http_sd_configs, until you
interrupt the command.

The targets are the cloud, the nodes, and every pod of the garden and the seeds that has a port named
"metrics", or "metrics-" and the name of the container.

Series have the labels cluster, namespace, pod and actor. The cloud and the nodes run beside the
clusters: their label cluster is "landscape", and they have neither namespace nor pod.`
	command.Example = "  transplant scrape-targets\n  curl http://127.0.0.1:9741/targets"
	command.Flags().StringVar(&address, "address", "127.0.0.1:9741",
		"address to serve on, on the loopback interface")
	return command
}

// serveTargets until ctx ends; ready is called with the address.
func serveTargets(ctx context.Context, address string, dir rundir.Dir, ready func(url string)) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
		return fmt.Errorf("--address %q: must be an address of the loopback with a port, such as 127.0.0.1:9741", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for Prometheus: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /targets", &scrapeTargets{dir: dir, last: map[string][]targetGroup{}})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	ready("http://" + listener.Addr().String() + "/targets")
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve Prometheus: %w", err)
	}
	return nil
}

// targetGroup is Prometheus's.
type targetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// scrapeTargets answers with the targets of all clusters. Of one that does not answer they are those of the last time:
// Prometheus shall see that they are down, and not forget them.
type scrapeTargets struct {
	dir rundir.Dir

	mu   sync.Mutex
	last map[string][]targetGroup // by cluster
}

func (s *scrapeTargets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := readState(s.dir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	groups := []targetGroup{}
	for _, c := range state.Clusters {
		if found, err := targetsOf(r.Context(), c); err == nil {
			s.last[c.Name] = found
		}
		groups = append(groups, s.last[c.Name]...)
	}
	groups = append(groups, targetsBeside(state.Processes)...)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(groups) // the client may have gone
}

// besideClusters is the cluster label of programs that run on none.
const besideClusters = "landscape"

func targetsBeside(processes []rundir.ProcessState) []targetGroup {
	var groups []targetGroup
	for _, p := range processes {
		if p.Metrics != "" {
			groups = append(groups, targetGroup{Targets: []string{p.Metrics},
				Labels: map[string]string{"cluster": besideClusters, "actor": p.Name}})
		}
	}
	return groups
}

// answerWithin is how long a cluster may take to list its pods.
const answerWithin = 5 * time.Second

func targetsOf(ctx context.Context, c rundir.ClusterState) ([]targetGroup, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %q: %w", c.Name, err)
	}
	config.Timeout = answerWithin
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %q: %w", c.Name, err)
	}
	pods, err := clients.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %q: %w", c.Name, err)
	}
	var groups []targetGroup
	for i := range pods.Items {
		groups = append(groups, targetsIn(&pods.Items[i], c.Name)...)
	}
	return groups, nil
}

func targetsIn(pod *corev1.Pod, cluster string) []targetGroup {
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" {
		return nil
	}
	var groups []targetGroup
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == metricsPort || port.Name == metricsPort+"-"+container.Name {
				groups = append(groups, targetGroup{
					Targets: []string{net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort)))},
					Labels: map[string]string{"cluster": cluster, "namespace": pod.Namespace, "pod": pod.Name,
						"actor": container.Name},
				})
			}
		}
	}
	return groups
}
