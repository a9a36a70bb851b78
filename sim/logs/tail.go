package logs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Bounds of the last lines of a log.
const (
	mostLines  = 15
	mostRunes  = 300 // of a line
	widestLine = 4000
	tailWithin = 3 * time.Second
)

// Run of a container.
type Run bool

// Runs whose logs a node keeps.
const (
	// Last is the run that goes on or, where none does, the one that has ended last.
	Last Run = false
	// Previous is the one before.
	Previous Run = true
)

// Tail gives the last lines of a container's log, empty ones left out, each cut to a readable length. It waits a few
// seconds at most.
func Tail(
	ctx context.Context, cluster kubernetes.Interface, pod *corev1.Pod, container string, run Run,
) ([]string, error) {
	lines, err := Lines(ctx, cluster, pod, container, run, mostLines)
	for i := range lines {
		lines[i] = short(lines[i], mostRunes)
	}
	return lines, err
}

// Lines gives so many last lines of a container's log, empty ones left out, each cut to a length that suits programs.
// It waits a few seconds at most.
func Lines(
	ctx context.Context, cluster kubernetes.Interface, pod *corev1.Pod, container string, run Run, most int,
) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, tailWithin)
	defer cancel()
	lines := int64(most)
	stream, err := cluster.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: run == Previous, TailLines: &lines,
	}).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of container %q of pod %s/%s: %w", container, pod.Namespace, pod.Name, err)
	}
	defer stream.Close()
	return lastLines(stream, most)
}

// lastLines of a stream. A line of any length takes no more memory than is shown of it.
func lastLines(stream io.Reader, most int) ([]string, error) {
	var kept []string
	in := bufio.NewReader(stream)
	for {
		piece, isPrefix, err := in.ReadLine()
		if err == io.EOF {
			return kept, nil
		}
		if err != nil {
			return kept, fmt.Errorf("read the log: %w", err)
		}
		line := short(string(piece), widestLine)
		for isPrefix && err == nil {
			_, isPrefix, err = in.ReadLine()
		}
		if line == "" {
			continue
		}
		if kept = append(kept, line); len(kept) > most {
			kept = slices.Delete(kept, 0, 1)
		}
	}
}

func short(line string, most int) string {
	line = strings.TrimRight(strings.ToValidUTF8(line, "\uFFFD"), " \t\r")
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return string([]rune(line)[:most-1]) + "…"
}
