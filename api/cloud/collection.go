package cloud

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// Collection reads and writes the resources of one kind.
type Collection[T any] struct {
	client *Client
	kind   string
}

// Networks of the account.
func (c *Client) Networks() Collection[Network] { return Collection[Network]{c, KindNetworks} }

// Subnets of all networks.
func (c *Client) Subnets() Collection[Subnet] { return Collection[Subnet]{c, KindSubnets} }

// Routers of all networks. They cannot be listed.
func (c *Client) Routers() Collection[Router] { return Collection[Router]{c, KindRouters} }

// SecurityGroups of all networks. They cannot be listed.
func (c *Client) SecurityGroups() Collection[SecurityGroup] {
	return Collection[SecurityGroup]{c, KindSecurityGroups}
}

// KeyPairs of the account.
func (c *Client) KeyPairs() Collection[KeyPair] { return Collection[KeyPair]{c, KindKeyPairs} }

// Machines of the account. Deleting one terminates it.
func (c *Client) Machines() Collection[Machine] { return Collection[Machine]{c, KindMachines} }

// Volumes of the account.
func (c *Client) Volumes() Collection[Volume] { return Collection[Volume]{c, KindVolumes} }

// LoadBalancers of the account.
func (c *Client) LoadBalancers() Collection[LoadBalancer] {
	return Collection[LoadBalancer]{c, KindLoadBalancers}
}

// Zones of the account.
func (c *Client) Zones() Collection[Zone] { return Collection[Zone]{c, KindZones} }

// Buckets of the account. A bucket's id is its name.
func (c *Client) Buckets() Collection[Bucket] { return Collection[Bucket]{c, KindBuckets} }

// CreateOption changes a creation.
type CreateOption func(url.Values)

// ClientToken makes a creation idempotent: a second one with the same token by the same identity answers the first
// one's object. With other content, or when that object has been deleted since, it answers Conflict.
func ClientToken(token string) CreateOption {
	return func(query url.Values) { query.Set("clientToken", token) }
}

// Filter chooses resources; all that is set must match.
type Filter struct {
	Name string
	Tags map[string]string
}

func (f Filter) query() url.Values {
	query := url.Values{}
	if f.Name != "" {
		query.Set("name", f.Name)
	}
	for key, value := range f.Tags {
		query.Add("tag", key+"="+value)
	}
	slices.Sort(query["tag"])
	return query
}

// Create makes a new object, every time it is called, and returns it as the cloud knows it.
func (c Collection[T]) Create(ctx context.Context, object *T, options ...CreateOption) (*T, error) {
	query := url.Values{}
	for _, option := range options {
		option(query)
	}
	return call[T](ctx, c.client, request{method: http.MethodPost, path: []string{c.kind}, query: query, body: object})
}

// Get reads the object with this id.
func (c Collection[T]) Get(ctx context.Context, id string) (*T, error) {
	return call[T](ctx, c.client, request{method: http.MethodGet, path: []string{c.kind, id}})
}

// List reads the objects that the filter matches, in order of creation.
func (c Collection[T]) List(ctx context.Context, filter Filter) ([]T, error) {
	return listOf[T](ctx, c.client, request{method: http.MethodGet, path: []string{c.kind}, query: filter.query()})
}

// Update replaces what may be changed of the object with this id. When the object carries a version, it must be the
// current one, else the answer is Conflict.
func (c Collection[T]) Update(ctx context.Context, id string, object *T) (*T, error) {
	query := url.Values{}
	if resource, ok := any(object).(Resource); ok && resource.Metadata().Version != 0 {
		query.Set("ifVersion", strconv.FormatInt(resource.Metadata().Version, 10))
	}
	return call[T](ctx, c.client, request{method: http.MethodPut, path: []string{c.kind, id}, query: query, body: object})
}

// Delete removes the object with this id; NotFound when it is gone already.
func (c Collection[T]) Delete(ctx context.Context, id string) error {
	return c.client.do(ctx, request{method: http.MethodDelete, path: []string{c.kind, id}}, nil)
}
