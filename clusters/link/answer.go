package link

import (
	"bytes"
	"maps"
	"net/http"
)

// answer is a server's answer that is kept back.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var _ http.ResponseWriter = &answer{}

// Header is that of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write keeps a part of the body.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// FlushError flushes nothing: the answer is not on its way yet.
func (a *answer) FlushError() error { return nil }

// success says that the server has carried the request out.
func (a *answer) success() bool { return a.status >= 200 && a.status < 300 }

// send gives the answer to the client.
func (a *answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may have gone
}

// objects are those that the answer lists; nil if it lists none that could be distinguished.
func (a *answer) objects() *listed {
	list := &listed{}
	if a.status != http.StatusOK || decode(a.body.Bytes(), list) != nil || list.version() == 0 {
		return nil
	}
	return list
}
