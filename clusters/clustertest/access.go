package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
)

// logs returns what a container has written.
func (f *fixture) logs(pod string, options corev1.PodLogOptions) string {
	f.Helper()
	content, err := f.client.CoreV1().Pods(f.namespace).GetLogs(pod, &options).DoRaw(f.Context())
	if err != nil {
		f.Fatalf("read the log of pod %s: %v", pod, err)
	}
	return string(content)
}

// awaitLog waits until a container's log has all the texts.
func (f *fixture) awaitLog(pod, container string, texts ...string) {
	f.Helper()
	f.await("the log of "+pod, func(ctx context.Context) error {
		content, err := f.client.CoreV1().Pods(f.namespace).GetLogs(pod,
			&corev1.PodLogOptions{Container: container}).DoRaw(ctx)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !strings.Contains(string(content), text) {
				return fmt.Errorf("%q is not in %q", text, content)
			}
		}
		return nil
	})
}

// exec runs a command in a container and returns its output and exit code.
func (f *fixture) exec(pod, container string, stdin string, command ...string) (string, int) {
	f.Helper()
	var stdout, stderr bytes.Buffer
	request := f.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(f.namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: stdin != "", Stdout: true,
			Stderr: true}, clientgoscheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(f.config, http.MethodGet, request.URL().String())
	if err != nil {
		f.Fatalf("prepare to execute in pod %s: %v", pod, err)
	}
	options := remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr}
	if stdin != "" {
		options.Stdin = strings.NewReader(stdin)
	}
	ctx, cancel := context.WithTimeout(f.Context(), awaitBound)
	defer cancel()
	err = executor.StreamWithContext(ctx, options)
	var exit utilexec.CodeExitError
	if err != nil && !errors.As(err, &exit) {
		f.Fatalf("execute %q in pod %s: %v; stderr %q", command, pod, err, &stderr)
	}
	return stdout.String() + stderr.String(), exit.Code
}

// do runs a step of testpod in a container, which must succeed.
func (f *fixture) do(pod, container, step string) {
	f.Helper()
	if output, code := f.exec(pod, container, "", append([]string{"testpod"}, strings.Fields(step)...)...); code != 0 {
		f.Fatalf("step %q in pod %s has ended with %d: %s", step, pod, code, output)
	}
}

// follow reads a log as it grows. Each call of what it returns reads until it has seen a text.
func (f *fixture) follow(pod string) (until func(text string)) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), awaitBound)
	f.Cleanup(cancel)
	stream, err := f.client.CoreV1().Pods(f.namespace).GetLogs(pod, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		f.Fatalf("follow the log of pod %s: %v", pod, err)
	}
	f.Cleanup(func() { _ = stream.Close() }) // only read from
	var seen []byte
	buffer := make([]byte, 1024)
	return func(text string) {
		f.Helper()
		for !strings.Contains(string(seen), text) {
			n, err := stream.Read(buffer)
			if seen = append(seen, buffer[:n]...); err != nil {
				f.Fatalf("follow the log of pod %s: %v after %q", pod, err, seen)
			}
		}
	}
}
