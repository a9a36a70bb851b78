package clustertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/utils/ptr"
)

func accessCases() []testCase {
	return []testCase{
		{"log-options", logOptions},
		{"log-of-previous-run", logOfPreviousRun},
		{"log-follows", logFollows},
		{"log-before-start", logBeforeStart},
		{"exec", executes},
		{"port-forward", portForward},
	}
}

func logOptions(f *fixture) {
	f.pod("p", "print one -- print two -- pause 2500ms -- print three", never)
	f.awaitPod("p", phase(corev1.PodSucceeded))
	since := metav1.NewTime(time.Now().Add(-time.Hour))
	for want, options := range map[string]corev1.PodLogOptions{
		"one\ntwo\nthree\n": {SinceTime: &since},
		"two\nthree\n":      {TailLines: ptr.To(int64(2))},
		"one\ntw":           {LimitBytes: ptr.To(int64(6))},
	} {
		if got := f.logs("p", options); got != want {
			f.Errorf("got %q, want %q", got, want)
		}
	}
	lines := strings.Split(strings.TrimSpace(f.logs("p", corev1.PodLogOptions{Timestamps: true})), "\n")
	stamp, text, _ := strings.Cut(lines[2], " ")
	written, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil || text != "three" {
		f.Fatalf("got the line %q: %v", lines[2], err)
	}
	between := metav1.NewTime(written.Add(-time.Second).Round(time.Second))
	if got := f.logs("p", corev1.PodLogOptions{SinceTime: &between}); got != "three\n" {
		f.Errorf("since %s: got %q", between, got)
	}
}

func logOfPreviousRun(f *fixture) {
	f.pod("p", "count /shared/n -- fail-until /shared/m 2 -- sleep", shared())
	f.awaitPod("p", ready, restarted("c", 1))
	f.awaitLog("p", "c", "waiting for SIGTERM")
	if got := f.logs("p", corev1.PodLogOptions{}); got != "count 2\nwaiting for SIGTERM\n" {
		f.Errorf("current: got %q", got)
	}
	if got := f.logs("p", corev1.PodLogOptions{Previous: true}); got != "count 1\nattempt 1 fails\n" {
		f.Errorf("previous: got %q", got)
	}
}

func logFollows(f *fixture) {
	f.pod("p", "print first -- await-file /tmp/go on -- print second -- sleep")
	f.awaitPod("p", ready)
	until := f.follow("p")
	until("first")
	f.do("p", "c", "write /tmp/go on")
	until("second")
}

func logBeforeStart(f *fixture) {
	f.pod("p", "sleep", initWith(f.container("i", "sleep")))
	f.awaitPod("p", running("i"))
	_, err := f.client.CoreV1().Pods(f.namespace).GetLogs("p", &corev1.PodLogOptions{Container: "c"}).Stream(f.Context())
	if err == nil || !strings.Contains(err.Error(), "waiting to start: PodInitializing") {
		f.Errorf("got %v", err)
	}
}

func executes(f *fixture) {
	f.pod("p", "sleep", env(corev1.EnvVar{Name: "A", Value: "a"}), with(f.container("d", "sleep")), shared())
	f.awaitPod("p", ready)
	f.do("p", "c", "write /tmp/only here -- write /shared/both there")
	output, code := f.exec("p", "c", "", "testpod", "env", "A", "--", "cat", "/tmp/only", "--", "exit", "9")
	if output != "A=a\nhere\n" || code != 9 {
		f.Errorf("got %q and %d", output, code)
	}
	output, code = f.exec("p", "d", "typed", "testpod", "cat", "/shared/both", "/dev/stdin")
	if output != "there\ntyped\n" || code != 0 {
		f.Errorf("got %q and %d", output, code)
	}
	if output, code := f.exec("p", "d", "", "testpod", "cat", "/tmp/only"); code != 1 {
		f.Errorf("a file of the other container: got %q and %d", output, code)
	}
}

func portForward(f *fixture) {
	f.pod("p", "serve 8080", readiness(probing(httpGet("/", 8080), 1)))
	f.awaitPod("p", ready)
	request := f.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(f.namespace).Name("p").SubResource(
		"portforward")
	transport, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		f.Fatal(err)
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, request.URL())
	stop, up := make(chan struct{}), make(chan struct{})
	reader, writer := io.Pipe()
	go func() { _, _ = bufio.NewReader(reader).WriteTo(io.Discard) }()
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:8080"}, stop, up, writer,
		writer)
	if err != nil {
		f.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	defer func() { close(stop); <-ended }()
	select {
	case <-up:
	case err := <-ended:
		f.Fatalf("forward a port: %v", err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		f.Fatal(err)
	}
	f.await("an answer through the port", func(ctx context.Context) error {
		get, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local), nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(get)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err == nil && string(content) != "p\n" {
			err = mismatch(string(content), "p\n")
		}
		return err
	})
}
