package fence_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// call is a request to the shoot's API and what came of it.
type call struct {
	key            string // of the ConfigMap that is written; empty for a read
	sent, answered time.Time
	status         int // 0: no answer
	revision       int64
}

func (c call) acknowledged() bool { return c.key != "" && c.status == http.StatusCreated }

// client of the shoot: a user, who goes through the gateway, or one on the seed, who goes to the API server. HTTP/2
// lets many requests wait on few connections, so that there are always some under way.
type client struct {
	prefix  string // of what it writes
	http    *http.Client
	ctx     context.Context // of all its requests
	waiting sync.WaitGroup
	next    atomic.Int32

	mu    sync.Mutex
	calls []call
}

func newClient(ctx context.Context, t *testing.T, prefix, ca, address string) *client {
	t.Helper()
	content, err := os.ReadFile(ca)
	must(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		t.Fatal("the CA of the API server holds no certificate")
	}
	return &client{ctx: ctx, prefix: prefix, http: &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}}
}

// write creates the next ConfigMap.
func (c *client) write() {
	key := fmt.Sprintf("%s-%04d", c.prefix, c.next.Add(1))
	body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": key}})
	if err != nil {
		panic(err) // strings only
	}
	c.do(call{key: key}, http.MethodPost, "", body)
}

// read takes what the API server has in its cache: no etcd is needed for that.
func (c *client) read() { c.do(call{}, http.MethodGet, "?limit=1&resourceVersion=0", nil) }

func (c *client) do(one call, method, query string, body []byte) {
	request, err := http.NewRequestWithContext(c.ctx, method, "https://"+name+"/api/v1/namespaces/default/configmaps"+
		query, bytes.NewReader(body))
	if err != nil {
		panic(err) // constants only
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	one.sent = time.Now()
	if response, err := c.http.Do(request); err == nil {
		one.take(response)
	}
	one.answered = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, one)
}

// take reads an answer. One whose body breaks off is none.
func (c *call) take(response *http.Response) {
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	var object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err != nil || json.Unmarshal(content, &object) != nil {
		return
	}
	c.status = response.StatusCode
	c.revision, _ = strconv.ParseInt(object.Metadata.ResourceVersion, 10, 64) // a Status has none
}

// spawn n requests at once.
func (c *client) spawn(n int, do func()) {
	for range n {
		c.waiting.Go(do)
	}
}

// work through the writes up to the number, eight at a time; each is tried once.
func (c *client) work(upTo int32) {
	for range 8 {
		c.waiting.Go(func() {
			for c.next.Load() < upTo && c.ctx.Err() == nil {
				c.write()
			}
		})
	}
}

// done is what has ended so far.
func (c *client) done() []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]call(nil), c.calls...)
}

func (c *client) acknowledged() int {
	n := 0
	for _, one := range c.done() {
		if one.acknowledged() {
			n++
		}
	}
	return n
}
