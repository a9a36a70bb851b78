package logs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestTail_AsksForTheRun(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		_, _ = io.WriteString(w, "one\n\n two \t\r\n\xffthree")
	}))
	t.Cleanup(server.Close)
	api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}}
	for run, want := range map[Run]string{
		Last:     "/api/v1/namespaces/n/pods/p/log?container=c&tailLines=15",
		Previous: "/api/v1/namespaces/n/pods/p/log?container=c&previous=true&tailLines=15",
	} {
		lines, err := Tail(t.Context(), api, pod, "c", run)
		if got := <-asked; err != nil || got != want {
			t.Errorf("asked for %s, want %s: %v", got, want, err)
		}
		if want := []string{"one", " two", "\uFFFDthree"}; !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
}

func TestTail_NoLog_SaysOfWhom(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	api, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}}
	if _, err := Tail(t.Context(), api, pod, "c", Last); err == nil || !strings.HasPrefix(err.Error(),
		`read the log of container "c" of pod n/p: `) {
		t.Errorf("%v", err)
	}
}

// However much a container has written, little is shown of it.
func TestLastLines_AreBounded(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&all, "%d %s\n", i, strings.Repeat("ä", 10_000))
	}
	lines, err := lastLines(strings.NewReader(all.String()), mostLines)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != mostLines || !strings.HasPrefix(lines[0], "985 ") {
		t.Fatalf("%d lines, the first %.10q", len(lines), lines[0])
	}
	for _, line := range lines {
		if n := len([]rune(short(line, mostRunes))); n != mostRunes || len(line) > 2*widestLine {
			t.Errorf("%d runes of %d bytes", n, len(line))
		}
	}
}
