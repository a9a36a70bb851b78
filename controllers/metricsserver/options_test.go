package metricsserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/transplant-sim/transplant/controllers/metricsserver"
)

// Who would take a compressed answer gets a plain one.
func TestMetricsAreNotCompressed(t *testing.T) {
	t.Parallel()
	serving, err := server.NewServer(metricsserver.At("127.0.0.1:0"), &rest.Config{}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serving.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := serving.(interface{ GetBindAddr() string })
	for at.GetBindAddr() == "" {
		select {
		case err := <-ended:
			ended <- nil
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at.GetBindAddr()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip, zstd")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" || !strings.Contains(string(body), "# TYPE ") {
		t.Errorf("the answer is %q:\n%.300q", encoding, body)
	}
}
