package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// maxAnswer bounds what is read of an answer that is not a stream.
const maxAnswer = 64 << 20

// Client calls the cloud. It may be used by many goroutines.
type Client struct {
	base  *url.URL
	http  *http.Client
	scope Scope
}

// Options of a client.
type Options struct {
	Scope Scope // carried by every call whose context names no other
}

// New makes a client for the server, trust and bearer token of the config.
func New(config *rest.Config, options Options) (*Client, error) {
	base, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parse the cloud's address: %w", err)
	}
	if base.Host == "" {
		return nil, fmt.Errorf("parse the cloud's address: %q is not a URL with a host", config.Host)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP client for the cloud at %q: %w", config.Host, err)
	}
	return &Client{base: base, http: client, scope: options.Scope}, nil
}

// FromKubeconfig makes a client from the content of a kubeconfig file.
func FromKubeconfig(content []byte, options Options) (*Client, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, fmt.Errorf("parse the cloud's kubeconfig: %w", err)
	}
	return New(config, options)
}

// FromKubeconfigFile makes a client from a kubeconfig file.
func FromKubeconfigFile(path string, options Options) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read the cloud's kubeconfig %q: %w", path, err)
	}
	return New(config, options)
}

// ConfineKubeconfig puts tokens that are good for one shoot, by its technical id, in the place of those of a kubeconfig
// (see ConfinedToken). An empty one stays without users.
func ConfineKubeconfig(content []byte, shoot string) ([]byte, error) {
	config, err := clientcmd.Load(content)
	if err != nil {
		return nil, fmt.Errorf("parse the cloud's kubeconfig: %w", err)
	}
	for name, user := range config.AuthInfos {
		if user.Token == "" {
			return nil, fmt.Errorf("confine the cloud's kubeconfig to %q: user %q has no token", shoot, name)
		}
		user.Token = ConfinedToken(user.Token, shoot)
	}
	confined, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write the cloud's kubeconfig for %q: %w", shoot, err)
	}
	return confined, nil
}

// WithScope is the same client with another scope.
func (c *Client) WithScope(scope Scope) *Client {
	other := *c
	other.scope = scope
	return &other
}

// request is one call whose bodies are small JSON documents.
type request struct {
	method string
	path   []string // segments, not escaped
	query  url.Values
	body   any // nil sends none
}

type progressKey struct{}

// WithProgress is a context whose calls call moved whenever something of their answer has come. The answer to a batch
// comes bit by bit while its calls are made.
func WithProgress(ctx context.Context, moved func()) context.Context {
	return context.WithValue(ctx, progressKey{}, moved)
}

// observed calls moved after each read.
type observed struct {
	io.Reader
	moved func()
}

// Read implements io.Reader.
func (o observed) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	o.moved()
	return n, err
}

// call makes a call whose answer is one object.
func call[T any](ctx context.Context, c *Client, r request) (*T, error) {
	object := new(T)
	if err := c.do(ctx, r, object); err != nil {
		return nil, err
	}
	return object, nil
}

// listOf makes a call whose answer is a list.
func listOf[T any](ctx context.Context, c *Client, r request) ([]T, error) {
	var list struct {
		Items []T `json:"items"`
	}
	err := c.do(ctx, r, &list)
	return list.Items, err
}

// do makes the call; an answer that nobody wants has a nil destination.
func (c *Client) do(ctx context.Context, r request, into any) error {
	var body io.Reader
	if r.body != nil {
		content, err := json.Marshal(r.body)
		if err != nil {
			return fmt.Errorf("marshal the body of %s %s: %w", r.method, strings.Join(r.path, "/"), err)
		}
		body = bytes.NewReader(content)
	}
	answer, err := c.send(ctx, r.method, r.path, r.query, body, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var coming io.Reader = answer.Body
	if moved, is := ctx.Value(progressKey{}).(func()); is {
		coming = observed{coming, moved}
	}
	content, err := io.ReadAll(io.LimitReader(coming, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", r.method, answer.Request.URL.Path, err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("parse the answer of %s %s: %w", r.method, answer.Request.URL.Path, err)
	}
	return nil
}

// send makes the call and returns an answer of the 2xx class with an open body, or an error.
func (c *Client) send(ctx context.Context, method string, path []string, query url.Values, body io.Reader,
	header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.address(path, query), body)
	if err != nil {
		return nil, fmt.Errorf("make the request %s %s: %w", method, strings.Join(path, "/"), err)
	}
	maps.Copy(r.Header, header)
	scope, given := ScopeFrom(ctx)
	if !given {
		scope = c.scope
	}
	scope.SetHeaders(r.Header)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call the cloud: %w", err)
	}
	if answer.StatusCode >= 300 {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	return answer, nil
}

func (c *Client) address(path []string, query url.Values) string {
	escaped := make([]string, 0, len(path))
	for _, segment := range path {
		escaped = append(escaped, url.PathEscape(segment))
	}
	address := *c.base
	text := address.String() + "/" + strings.Join(escaped, "/")
	if len(query) > 0 {
		text += "?" + query.Encode()
	}
	return text
}

// refusal makes an error of an answer, also of one that is not the cloud's: a proxy on the way may have spoken.
func refusal(answer *http.Response) error {
	content, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	e := &Error{}
	if err := json.Unmarshal(content, e); err != nil || !e.Code.Known() {
		return fmt.Errorf("call the cloud: unexpected answer %q to %s %s: %.200s", answer.Status, answer.Request.Method,
			answer.Request.URL.Path, content)
	}
	return e
}
