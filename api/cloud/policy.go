package cloud

import (
	"context"
	"net/http"
	"strings"
)

// Policy says which seed may take a shoot over: write its owner record, with a higher epoch (docs/ownership.md#o5). It
// binds the tokens of seeds. What else these may do for a shoot follows from the owner record itself. A policy of a
// bucket says whose it is.
type Policy struct {
	Meta // the id is the shoot's technical id, or that of BucketPolicy
	// Bound is the seed that the garden has bound the shoot to; empty if that seed is lost: then none may. Of a bucket it
	// is the seed that may make, change and remove it.
	Bound string `json:"bound,omitempty"`
}

// bucketPolicy begins the ids of policies of buckets.
const bucketPolicy = "bucket--"

// BucketPolicy is the id of the policy of a bucket.
func BucketPolicy(bucket string) string { return bucketPolicy + bucket }

// PolicyBucket is the bucket that the policy of an id is for; none if it is for a shoot.
func PolicyBucket(id string) (bucket string, is bool) { return strings.CutPrefix(id, bucketPolicy) }

// SetPolicy creates the policy of the shoot or bucket that it is for, or replaces it. Only who keeps policies may, or
// an admin.
func (c *Client) SetPolicy(ctx context.Context, policy Policy) (*Policy, error) {
	return call[Policy](ctx, c, request{method: http.MethodPut, path: []string{KindPolicies, policy.ID}, body: policy})
}

// DeletePolicy removes a policy by its id; NotFound when there is none.
func (c *Client) DeletePolicy(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: []string{KindPolicies, id}}, nil)
}

// Policies lists all, in order of creation.
func (c *Client) Policies(ctx context.Context) ([]Policy, error) {
	return listOf[Policy](ctx, c, request{method: http.MethodGet, path: []string{KindPolicies}})
}
