// Command podserver is what a pod of a shoot does for its API server and its users: it serves a page, a validating
// webhook, and an aggregated API. All of them name the process that answers, as do its log and the file /tmp/process,
// so that a process that has been started anew is noticed.
//
// It serves the page at port 8080 of the address in $POD_IP, and the rest at port 8443 with the certificate in
// /srv/podserver.
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	processFile = "/tmp/process"
	certificate = "/srv/podserver/tls.crt"
	key         = "/srv/podserver/tls.key"

	groupVersion = "answers.e2e.test/v1"
	resource     = "answers"
	// headerTimeout bounds the wait for a request.
	headerTimeout = 10 * time.Second
)

func main() {
	if err := run(process(rand.Text())); err != nil {
		fmt.Fprintln(os.Stderr, "podserver:", err)
		os.Exit(1)
	}
}

// process is the name of this one.
type process string

func run(p process) error {
	if err := os.WriteFile(processFile, []byte(p), 0o600); err != nil {
		return err
	}
	page, secured := http.NewServeMux(), http.NewServeMux()
	page.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(p)) })
	secured.HandleFunc("POST /validate", p.validate)
	secured.HandleFunc("GET /apis/"+groupVersion, p.discover)
	secured.HandleFunc("GET /apis/"+groupVersion+"/"+resource+"/{name}", p.answer)
	fmt.Printf("process %s serves\n", p)
	ended := make(chan error, 2)
	serve := func(port string, mux *http.ServeMux, listen func(*http.Server) error) {
		// Pods of process nodes share the network of their machine.
		address := net.JoinHostPort(os.Getenv("POD_IP"), port)
		ended <- listen(&http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: headerTimeout})
	}
	go serve("8080", page, (*http.Server).ListenAndServe)
	go serve("8443", secured, func(s *http.Server) error { return s.ListenAndServeTLS(certificate, key) })
	return <-ended
}

// validate refuses each ConfigMap whose key "verdict" is "refuse".
func (p process) validate(w http.ResponseWriter, r *http.Request) {
	review, object := &admissionv1.AdmissionReview{}, &corev1.ConfigMap{}
	err := json.NewDecoder(r.Body).Decode(review)
	if err == nil && review.Request == nil {
		err = errors.New("the review has no request")
	}
	if err == nil {
		err = json.Unmarshal(review.Request.Object.Raw, object)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if object.Data["verdict"] == "refuse" {
		review.Response.Allowed = false
		review.Response.Result = &metav1.Status{Message: fmt.Sprintf("process %s refuses it", p), Code: http.StatusForbidden}
	}
	review.Request = nil
	show(w, review)
}

// discover says what the API consists of.
func (p process) discover(w http.ResponseWriter, _ *http.Request) {
	show(w, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: groupVersion,
		APIResources: []metav1.APIResource{{Name: resource, SingularName: "answer", Kind: "Answer",
			Verbs: metav1.Verbs{"get"}}},
	})
}

// answer says who asks, as the API server has authenticated them.
func (p process) answer(w http.ResponseWriter, r *http.Request) {
	show(w, map[string]any{
		"apiVersion": groupVersion, "kind": "Answer", "metadata": map[string]string{"name": r.PathValue("name")},
		"process": p, "user": r.Header.Get("X-Remote-User"),
	})
}

func show(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) // the API server sees a broken answer
}
