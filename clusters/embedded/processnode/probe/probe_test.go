package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	testingclock "k8s.io/utils/clock/testing"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(elsewhere.Close)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/host":
			if r.Host != "example.test" || r.Header.Get("X-Probe") != "yes" || r.URL.RawQuery != "a=b" {
				w.WriteHeader(http.StatusBadRequest)
			}
		case "/sick":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/here":
			http.Redirect(w, r, "/sick", http.StatusFound)
		case "/away":
			http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
		}
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	port := func(server *httptest.Server) intstr.IntOrString {
		return intstr.FromInt(server.Listener.Addr().(*net.TCPAddr).Port)
	}
	for name, test := range map[string]struct {
		action corev1.HTTPGetAction
		want   string
	}{
		"good": {corev1.HTTPGetAction{Path: "/", Port: port(plain)}, ""},
		"own host": {corev1.HTTPGetAction{Path: "/host?a=b", Port: port(plain),
			HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: "example.test"}, {Name: "X-Probe", Value: "yes"}}}, ""},
		"sick":      {corev1.HTTPGetAction{Path: "/sick", Port: port(plain)}, "HTTP probe failed with statuscode: 503"},
		"redirect":  {corev1.HTTPGetAction{Path: "/here", Port: port(plain)}, "HTTP probe failed with statuscode: 503"},
		"elsewhere": {corev1.HTTPGetAction{Path: "/away", Port: port(plain)}, ""},
		"secure":    {corev1.HTTPGetAction{Path: "/", Port: port(secure), Scheme: corev1.URISchemeHTTPS}, ""},
		"no port": {corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("none")},
			`find the port "none": the container has none of that name`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Target{Host: "127.0.0.1"}.Check(t.Context(), &corev1.ProbeHandler{HTTPGet: &test.action})
			if got := text(err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTCPAndGRPC(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, checks := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, checks)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	checks.SetServingStatus("sick", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	port, sick := int32(listener.Addr().(*net.TCPAddr).Port), "sick"
	target := Target{Host: "127.0.0.1", Ports: []corev1.ContainerPort{{Name: "grpc", ContainerPort: port}}}
	for _, test := range []struct {
		handler corev1.ProbeHandler
		want    string
	}{
		{corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("grpc")}}, ""},
		{corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(1)}},
			"dial tcp 127.0.0.1:1: connect: connection refused"},
		{corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: port}}, ""},
		{corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: port, Service: &sick}},
			`service unhealthy (responded with "NOT_SERVING")`},
	} {
		if got := text(target.Check(t.Context(), &test.handler)); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.handler, got, test.want)
		}
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	target := Target{Exec: func(_ context.Context, command []string, output io.Writer) (int, error) {
		fmt.Fprintln(output, strings.Repeat("x", 2*maxOutput))
		switch command[0] {
		case "slow":
			return 0, context.DeadlineExceeded
		case "bad":
			return 1, nil
		}
		return 0, nil
	}}
	for command, want := range map[string]string{"good": "", "bad": strings.Repeat("x", maxOutput),
		"slow": `command timed out: "slow"`} {
		if got := text(target.Check(t.Context(),
			&corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}})); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// TestLoop has one attempt after the other answered by the test, and the clock moved between them.
func TestLoop(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Now())
	answers, outcomes := make(chan int), make(chan Outcome)
	target := Target{Exec: func(context.Context, []string, io.Writer) (int, error) { return <-answers, nil }}
	spec := &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}},
		InitialDelaySeconds: 7, PeriodSeconds: 3, TimeoutSeconds: 60, SuccessThreshold: 2, FailureThreshold: 3,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Loop(t.Context(), clock, Readiness, spec, target, func(o Outcome) bool {
			outcomes <- o
			return true
		})
	}()
	attempts := []struct {
		code    int
		reached bool
	}{{1, false}, {1, false}, {1, true}, {1, true}, {0, false}, {1, false}, {0, false}, {0, true}, {0, true}}
	wait := 7 * time.Second
	for i, attempt := range attempts {
		awaitTimer(t, clock)
		clock.Step(wait - time.Millisecond)
		select {
		case answers <- attempt.code:
			t.Fatalf("attempt %d came too early", i)
		case <-time.After(5 * time.Millisecond):
		}
		clock.Step(time.Millisecond)
		answers <- attempt.code
		outcome := <-outcomes
		if outcome.Kind != Readiness || (outcome.Err == nil) != (attempt.code == 0) || outcome.Reached != attempt.reached {
			t.Errorf("attempt %d: got %+v, want reached %t", i, outcome, attempt.reached)
		}
		wait = 3 * time.Second
	}
}

func awaitTimer(t *testing.T, clock *testingclock.FakeClock) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !clock.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody waits")
		}
	}
}

func TestLoopEnds(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Now())
	spec := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}, InitialDelaySeconds: 1}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		Loop(ctx, clock, Liveness, spec, Target{}, func(Outcome) bool { t.Error("an attempt was made"); return true })
		close(ended)
	}()
	awaitTimer(t, clock)
	cancel()
	<-ended
	cause := errors.New("x")
	again := make(chan struct{})
	go func() {
		target := Target{Exec: func(context.Context, []string, io.Writer) (int, error) { return 0, cause }}
		calls := 0
		Loop(t.Context(), clock, Liveness, spec, target, func(o Outcome) bool {
			if calls++; calls > 1 || !errors.Is(o.Err, cause) {
				t.Errorf("call %d: got %+v", calls, o)
			}
			return false
		})
		close(again)
	}()
	awaitTimer(t, clock)
	clock.Step(time.Second)
	<-again
}
