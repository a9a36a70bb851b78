package chaosmesh

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/sim/world"
)

// choose finds the pods of a cluster that a selector of Chaos Mesh means. The dice of its mode fall the same way for
// the same pods.
func choose(ctx context.Context, w world.World, cluster string, s v1alpha1.PodSelector) ([]corev1.Pod, error) {
	pods, err := choosable(ctx, w, cluster, s)
	if err != nil {
		return nil, err
	}
	return drawn(pods, s)
}

// choosable are the pods of a cluster that a selector finds, whatever its mode.
func choosable(ctx context.Context, w world.World, cluster string, s v1alpha1.PodSelector) ([]corev1.Pod, error) {
	config, err := w.Connect(cluster)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %q: %w", cluster, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for cluster %q: %w", cluster, err)
	}
	pods, err := selected(ctx, client, s.Selector)
	if err != nil {
		return nil, fmt.Errorf("select the pods of cluster %q: %w", cluster, err)
	}
	return pods, nil
}

func selected(ctx context.Context, client kubernetes.Interface, s v1alpha1.PodSelectorSpec) ([]corev1.Pod, error) {
	if len(s.Pods) > 0 { // named pods need no other selector, and heed none
		return named(ctx, client, s.Pods)
	}
	options, err := listOptions(s.GenericSelectorSpec)
	if err != nil {
		return nil, err
	}
	nodes, err := nodesOf(ctx, client, s)
	if err != nil {
		return nil, err
	}
	namespaces := s.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var found []corev1.Pod
	for _, namespace := range namespaces {
		list, err := client.CoreV1().Pods(namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		found = append(found, list.Items...)
	}
	return slices.DeleteFunc(found, func(pod corev1.Pod) bool {
		return len(s.PodPhaseSelectors) > 0 && !slices.Contains(s.PodPhaseSelectors, string(pod.Status.Phase)) ||
			nodes != nil && !slices.Contains(nodes, pod.Spec.NodeName) ||
			!labels.SelectorFromSet(s.AnnotationSelectors).Matches(labels.Set(pod.Annotations))
	}), nil
}

func named(ctx context.Context, client kubernetes.Interface, wanted map[string][]string) ([]corev1.Pod, error) {
	var found []corev1.Pod
	for namespace, names := range wanted {
		for _, name := range names {
			switch pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{}); {
			case err == nil:
				found = append(found, *pod)
			case !apierrors.IsNotFound(err):
				return nil, err
			}
		}
	}
	return found, nil
}

func listOptions(s v1alpha1.GenericSelectorSpec) (metav1.ListOptions, error) {
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: s.LabelSelectors,
		MatchExpressions: s.ExpressionSelectors})
	if err != nil {
		return metav1.ListOptions{}, err
	}
	return metav1.ListOptions{LabelSelector: selector.String(),
		FieldSelector: fields.SelectorFromSet(s.FieldSelectors).String()}, nil
}

// nodesOf are the nodes that pods must be on; nil for any.
func nodesOf(ctx context.Context, client kubernetes.Interface, s v1alpha1.PodSelectorSpec) ([]string, error) {
	if len(s.Nodes) == 0 && len(s.NodeSelectors) == 0 {
		return nil, nil
	}
	nodes := slices.Concat([]string{}, s.Nodes) // not nil, even when there are none
	if len(s.NodeSelectors) > 0 {
		list, err := client.CoreV1().Nodes().List(ctx,
			metav1.ListOptions{LabelSelector: labels.SelectorFromSet(s.NodeSelectors).String()})
		if err != nil {
			return nil, err
		}
		for _, node := range list.Items {
			nodes = append(nodes, node.Name)
		}
	}
	return nodes, nil
}

// drawn leaves as many pods as the mode wants.
func drawn(pods []corev1.Pod, s v1alpha1.PodSelector) ([]corev1.Pod, error) {
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	seed := fnv.New64a()
	for _, pod := range pods {
		_, _ = io.WriteString(seed, pod.Namespace+"/"+pod.Name+"\n")
	}
	dice := rand.New(rand.NewPCG(seed.Sum64(), 0))
	if len(pods) == 0 {
		return nil, nil
	}
	number, err := howMany(len(pods), s, dice)
	if err != nil {
		return nil, err
	}
	dice.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods[:number], nil
}

// modes of a selector. Chaos Mesh leaves unknown ones to the schema of its API server.
func modes() []v1alpha1.SelectorMode {
	return []v1alpha1.SelectorMode{v1alpha1.OneMode, v1alpha1.AllMode, v1alpha1.FixedMode, v1alpha1.FixedPercentMode,
		v1alpha1.RandomMaxPercentMode}
}

func howMany(of int, s v1alpha1.PodSelector, dice *rand.Rand) (int, error) {
	value := 0
	if s.Mode != v1alpha1.OneMode && s.Mode != v1alpha1.AllMode {
		var err error
		if value, err = strconv.Atoi(s.Value); err != nil {
			return 0, fmt.Errorf("read the value of mode %q: %w", s.Mode, err)
		}
	}
	switch s.Mode {
	case v1alpha1.OneMode:
		return 1, nil
	case v1alpha1.AllMode:
		return of, nil
	case v1alpha1.FixedMode:
		return min(value, of), nil
	case v1alpha1.FixedPercentMode:
		return atLeast(of, value), nil
	case v1alpha1.RandomMaxPercentMode: // Chaos Mesh may choose none, too, which would be no experiment
		return atLeast(of, 1+dice.IntN(value)), nil
	}
	return 0, fmt.Errorf("mode %q: must be one of %v", s.Mode, modes())
}

// atLeast is a percentage of a number, rounded up.
func atLeast(of, percent int) int { return (of*percent + 99) / 100 }
