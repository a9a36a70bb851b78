package requests

import (
	"bytes"
	"errors"
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

// Send gives the answer to the client.
func (a *Answer) Send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may have gone
}

// success says that the server has carried the request out.
func success(status int, _ http.Header) bool { return status >= 200 && status < 300 }

// passing is an answer of which only the header is kept back.
type passing struct {
	http.ResponseWriter
	begin func(status int, header http.Header) int
	begun bool
}

// WriteHeader begins the answer; what is not its header yet passes.
func (p *passing) WriteHeader(status int) {
	if status >= http.StatusOK && !p.begun {
		p.begun = true
		status = p.begin(status, p.Header())
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write passes a part of the body on. A status that has none, which a fault has put there, drops it.
func (p *passing) Write(part []byte) (int, error) {
	p.beginNow()
	n, err := p.ResponseWriter.Write(part)
	if errors.Is(err, http.ErrBodyNotAllowed) {
		return len(part), nil
	}
	return n, err
}

// FlushError sends what was written on its way.
func (p *passing) FlushError() error {
	p.beginNow()
	return http.NewResponseController(p.ResponseWriter).Flush()
}

func (p *passing) beginNow() {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
}

// List are the objects that the answer lists; nil if it lists none that could be distinguished.
func (a *Answer) List() *kubeapi.List {
	if a.status != http.StatusOK {
		return nil
	}
	return kubeapi.ReadList(a.body.Bytes())
}
