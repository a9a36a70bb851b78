package cloud

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	api "github.com/transplant-sim/transplant/api/cloud"
)

// Role allows an identity more than an ordinary one.
type Role string

// The roles. Whoever has none may do what a tenant of the account may do.
const (
	RoleAdmin    Role = "admin"    // everything: faults, snapshots, and what the other roles may
	RoleObserver Role = "observer" // reads the ledger and lists what cannot be found otherwise
	RoleNodes    Role = "nodes"    // reads the user data of machines and the ledger
	RolePolicies Role = "policies" // keeps the policies of shoots, and may do nothing else
)

// TokenFile is the file of --tokens, as YAML or JSON.
type TokenFile struct {
	Tokens []Token `json:"tokens"`
}

// Token says whose a bearer token is.
type Token struct {
	Token    string `json:"token"`
	Identity string `json:"identity"`
	Roles    []Role `json:"roles,omitempty"`
	// Seed binds the token to what DNS and the policies say about shoots: it may take over only one that the policy binds
	// to the seed, and change only what is of a shoot that DNS gives to the seed. Empty for a token that is bound to no
	// seed.
	Seed string `json:"seed,omitempty"`
}

type identity struct {
	name  string
	seed  string // empty for one that is bound to no seed
	roles []Role
}

// may says whether the identity has one of the roles; an admin has all.
func (i identity) may(roles ...Role) bool {
	return slices.ContainsFunc(i.roles, func(r Role) bool { return r == RoleAdmin || slices.Contains(roles, r) })
}

// only says whether the identity has this role and no other.
func (i identity) only(role Role) bool { return len(i.roles) == 1 && i.roles[0] == role }

// identities knows the tokens of a file and reads it again when it has changed.
type identities struct {
	path string

	mutex  sync.Mutex
	seen   os.FileInfo
	tokens map[[sha256.Size]byte]identity // by digest, so that a lookup takes the same time for every wrong token
	seeds  map[string]string              // by identity
}

func newIdentities(path string) (*identities, error) {
	i := &identities{path: path}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i, i.reload()
}

// reload reads the file if it has changed. When that fails, what was known stays known.
func (i *identities) reload() error {
	info, err := os.Stat(i.path)
	if err != nil {
		return fmt.Errorf("look at the token file: %w", err)
	}
	if i.seen != nil && os.SameFile(i.seen, info) && i.seen.ModTime().Equal(info.ModTime()) &&
		i.seen.Size() == info.Size() {
		return nil
	}
	content, err := os.ReadFile(i.path)
	if err != nil {
		return fmt.Errorf("read the token file: %w", err)
	}
	var file TokenFile
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return fmt.Errorf("parse the token file %q: %w", i.path, err)
	}
	tokens, seeds := map[[sha256.Size]byte]identity{}, map[string]string{}
	for n, token := range file.Tokens {
		if token.Token == "" || token.Identity == "" {
			return fmt.Errorf("parse the token file %q: tokens[%d]: token and identity are required", i.path, n)
		}
		seeds[token.Identity] = token.Seed
		tokens[sha256.Sum256([]byte(token.Token))] = identity{name: token.Identity, seed: token.Seed, roles: token.Roles}
	}
	i.seen, i.tokens, i.seeds = info, tokens, seeds
	return nil
}

// seedOf an identity; empty if it is bound to none.
func (i *identities) seedOf(name string) string {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.seeds[name]
}

// authenticate finds out who makes a request, and in which scope. Headers win over the scope that rides on a token.
func (i *identities) authenticate(r *http.Request) (identity, api.Scope, error) {
	refused := standard(api.CodeUnauthenticated, "")
	bearer, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return identity{}, api.Scope{}, refused
	}
	token, scope, err := api.SplitToken(bearer)
	if err != nil {
		return identity{}, api.Scope{}, refused
	}
	i.mutex.Lock()
	reloadErr := i.reload()
	who, known := i.tokens[sha256.Sum256([]byte(token))]
	i.mutex.Unlock()
	if !known {
		if reloadErr != nil {
			return identity{}, api.Scope{}, reloadErr
		}
		return identity{}, api.Scope{}, refused
	}
	given, err := api.ScopeFromHeaders(r.Header)
	if err != nil {
		return who, api.Scope{}, invalid("%v", err)
	}
	if given != (api.Scope{}) {
		scope = given
	}
	return who, scope, nil
}
