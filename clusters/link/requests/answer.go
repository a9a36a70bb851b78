package requests

import (
	"bytes"
	"maps"
	"net/http"

	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Answer is a server's answer that is kept back.
type Answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var _ http.ResponseWriter = &Answer{}

// NewAnswer is one that the server has not begun.
func NewAnswer() *Answer { return &Answer{header: http.Header{}} }

// Header is that of the answer.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *Answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write keeps a part of the body.
func (a *Answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// FlushError flushes nothing: the answer is not on its way yet.
func (a *Answer) FlushError() error { return nil }

// success says that the server has carried the request out.
func (a *Answer) success() bool { return a.status >= 200 && a.status < 300 }

// Send gives the answer to the client.
func (a *Answer) Send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may have gone
}

// List are the objects that the answer lists; nil if it lists none that could be distinguished.
func (a *Answer) List() *kubeapi.List {
	if a.status != http.StatusOK {
		return nil
	}
	return kubeapi.ReadList(a.body.Bytes())
}
