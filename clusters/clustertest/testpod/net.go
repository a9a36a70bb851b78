package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// address is where a server of this pod listens: its own address only where that is one of the machine's loopback,
// which all pods of a process node share. Elsewhere all addresses are the pod's own, and a forwarded port arrives at
// loopback.
func address(port string) string {
	ip := os.Getenv("POD_IP")
	if parsed := net.ParseIP(ip); parsed == nil || !parsed.IsLoopback() {
		ip = ""
	}
	return net.JoinHostPort(ip, port)
}

// serve answers HTTP: serve PORT. "/" says the host name; "/file/PATH" answers 200 if the path exists and 500 if not,
// "/nofile/PATH" the other way round, so that a test turns a probe by making a file.
func serve(args []string) error {
	if err := expect(args, 1); err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	answer := func(w http.ResponseWriter, good bool) {
		if !good {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = fmt.Fprintln(w, name) // the client may have gone
	}
	there := func(path string) bool { _, err := os.Stat("/" + path); return err == nil }
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { answer(w, true) })
	mux.HandleFunc("/file/{path...}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, there(r.PathValue("path")))
	})
	mux.HandleFunc("/nofile/{path...}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, !there(r.PathValue("path")))
	})
	mux.HandleFunc("/append/{path...}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, appendLine([]string{"/" + r.PathValue("path"), "asked"}) == nil)
	})
	fmt.Println("serving on", args[0])
	server := &http.Server{Addr: address(args[0]), Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// serveGRPC answers gRPC health checks as healthy: serve-grpc PORT.
func serveGRPC(args []string) error {
	if err := expect(args, 1); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address(args[0]))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	fmt.Println("serving gRPC on", args[0])
	return server.Serve(listener)
}

const (
	getPoll  = 100 * time.Millisecond
	getBound = time.Minute
)

// get fetches a URL until it answers 200 and shows the answer: get URL. With a second argument it does so until the
// answer is that.
func get(args []string) error {
	if len(args) == 0 {
		return expect(args, 1)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var last string
	for end := time.Now().Add(getBound); time.Now().Before(end); time.Sleep(getPoll) {
		body, err := fetch(client, args[0])
		if err == nil && (len(args) == 1 || body == args[1]) {
			_, err := fmt.Println("answer:", body)
			return err
		}
		last = fmt.Sprintf("%q, %v", body, err)
	}
	return fmt.Errorf("the last answer of %s was %s", args[0], last)
}

// refused wants a connection to be refused: refused URL.
func refused(args []string) error {
	if err := expect(args, 1); err != nil {
		return err
	}
	_, err := fetch(&http.Client{Timeout: 5 * time.Second}, args[0])
	if err == nil {
		return errors.New("want a refused connection, got an answer")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("want a refused connection, got: %w", err)
	}
	return nil
}

func fetch(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return strings.TrimSpace(string(body)), err
}

const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount/"

// whoami asks the API server, as any pod would reach it, who the token's owner is: whoami [TOKEN-FILE].
func whoami(args []string) error {
	file := accountFolder + "token"
	if len(args) > 0 {
		file = args[0]
	}
	token, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(accountFolder + "ca.crt")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	url := "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")) +
		"/apis/authentication.k8s.io/v1/selfsubjectreviews"
	request, err := http.NewRequest(http.MethodPost, url,
		bytes.NewReader([]byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: 20 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		_, err = fmt.Printf("status %d\n", response.StatusCode)
		return err
	}
	var review struct {
		Status struct {
			UserInfo struct{ Username string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&review); err != nil {
		return err
	}
	_, err = fmt.Printf("status %d user %s\n", response.StatusCode, review.Status.UserInfo.Username)
	return err
}
