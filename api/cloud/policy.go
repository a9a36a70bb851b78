package cloud

import (
	"context"
	"net/http"
)

// Policy says which seed may take a shoot over: write its owner record, with a higher epoch (docs/ownership.md#o5). It
// binds the tokens of seeds. What else these may do for a shoot follows from the owner record itself.
type Policy struct {
	Meta // the id is the shoot's technical id
	// Bound is the seed that the garden has bound the shoot to; empty if that seed is lost: then none may.
	Bound string `json:"bound,omitempty"`
}

// SetPolicy creates the policy of the shoot that it is for, or replaces it. Only who keeps policies may, or an admin.
func (c *Client) SetPolicy(ctx context.Context, policy Policy) (*Policy, error) {
	return call[Policy](ctx, c, request{method: http.MethodPut, path: []string{KindPolicies, policy.ID}, body: policy})
}

// DeletePolicy removes the policy of a shoot; NotFound when there is none.
func (c *Client) DeletePolicy(ctx context.Context, shoot string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: []string{KindPolicies, shoot}}, nil)
}

// Policies lists all, in order of creation.
func (c *Client) Policies(ctx context.Context) ([]Policy, error) {
	return listOf[Policy](ctx, c, request{method: http.MethodGet, path: []string{KindPolicies}})
}
