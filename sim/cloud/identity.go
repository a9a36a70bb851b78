package cloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

// Role allows an identity to call what others may not.
type Role string

// The roles. Whoever has none may read what holds no secret.
const (
	RoleAdmin    Role = "admin"    // everything: faults, snapshots, and what the other roles may
	RoleObserver Role = "observer" // reads the ledger and the backups, and lists what cannot be found otherwise
	RoleNodes    Role = "nodes"    // reads the user data of machines and the ledger
	RolePolicies Role = "policies" // keeps the policies, and may do nothing else

	// Those of seeds. For which shoots they are good, bound.go says.
	RoleGardenlet    Role = "gardenlet"     // writes owner records, and copies backups
	RoleProvider     Role = "provider"      // keeps what shoots have in the cloud, and their names
	RoleBackups      Role = "backups"       // keeps the seed's bucket, and removes backups
	RoleControlPlane Role = "control-plane" // keeps what one shoot attaches to itself, and its backups

	RoleBucket Role = "bucket" // makes one bucket, and keeps what is in it
)

// rights of the roles: the verbs that they allow, by kind. To read what holds no secret needs none.
var rights = map[Role]map[string][]string{
	RoleAdmin:    {},
	RoleObserver: {api.KindObjects: {api.VerbGet, api.VerbList}},
	RoleNodes:    {},
	RolePolicies: {api.KindPolicies: {api.VerbList, api.VerbSet, api.VerbDelete}},
	RoleGardenlet: {
		api.KindRecords: {api.VerbPut},
		api.KindObjects: {api.VerbGet, api.VerbList, api.VerbPut, api.VerbDelete},
	},
	RoleProvider: {
		api.KindNetworks: keeps, api.KindSubnets: keeps, api.KindRouters: keeps, api.KindSecurityGroups: keeps,
		api.KindKeyPairs: keeps, api.KindMachines: keeps, api.KindVolumes: keeps, api.KindLoadBalancers: keeps,
		api.KindRecords: {api.VerbPut, api.VerbDelete},
	},
	RoleBackups: {
		api.KindBuckets: keeps,
		api.KindObjects: {api.VerbList, api.VerbDelete},
	},
	RoleBucket: {
		api.KindBuckets: {api.VerbCreate},
		api.KindObjects: {api.VerbGet, api.VerbList, api.VerbPut, api.VerbDelete},
	},
	RoleControlPlane: {
		api.KindMachines: {api.VerbCreate, api.VerbDelete}, api.KindVolumes: keeps, api.KindLoadBalancers: keeps,
		api.KindObjects: {api.VerbGet, api.VerbList, api.VerbPut, api.VerbDelete},
	},
}

var keeps = []string{api.VerbCreate, api.VerbUpdate, api.VerbDelete}

// ofSeeds are the roles that only a token of a seed can have.
var ofSeeds = []Role{RoleGardenlet, RoleProvider, RoleBackups, RoleControlPlane}

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
	// seed. Whoever has such a token can confine it to one shoot (api.ConfinedToken). The role control-plane is good
	// for nothing before.
	Seed string `json:"seed,omitempty"`
	// Bucket is the only one that a token of the role bucket is good for.
	Bucket string `json:"bucket,omitempty"`
}

func (t Token) check() error {
	if t.Token == "" || t.Identity == "" {
		return errors.New("token and identity are required")
	}
	for _, role := range t.Roles {
		if _, known := rights[role]; !known {
			return fmt.Errorf("there is no role %q", role)
		}
		if slices.Contains(ofSeeds, role) && t.Seed == "" {
			return fmt.Errorf("the role %q needs a seed", role)
		}
		if role == RoleBucket && (t.Bucket == "" || len(t.Roles) > 1) {
			return fmt.Errorf("the role %q needs a bucket, and goes with no other role", role)
		}
	}
	return nil
}

type identity struct {
	name  string
	seed  string // empty for one that is bound to no seed
	shoot string // the technical id of the only one that it is good for; empty if it is not confined
	// bucket is the only one that it is good for; empty if it is not confined to one.
	bucket string
	roles  []Role
}

// may says whether the identity has one of the roles; an admin has all.
func (i identity) may(roles ...Role) bool {
	return slices.ContainsFunc(i.roles, func(r Role) bool { return r == RoleAdmin || slices.Contains(roles, r) })
}

// mayCall says whether a role of the identity allows the verb.
func (i identity) mayCall(verb, kind string) bool {
	if slices.Contains(readVerbs, verb) && kind != api.KindObjects && !i.only(RolePolicies) {
		return true
	}
	return slices.ContainsFunc(i.roles, func(r Role) bool {
		return r == RoleAdmin || slices.Contains(rights[r][kind], verb)
	})
}

// only says whether the identity has this role and no other.
func (i identity) only(role Role) bool { return len(i.roles) == 1 && i.roles[0] == role }

// identities knows the tokens of a file and reads it again when it has changed.
type identities struct {
	path string

	mutex  sync.Mutex
	seen   os.FileInfo
	tokens map[[sha256.Size]byte]Token // by digest, so that a lookup takes the same time for every wrong token
	names  map[string]Token            // of seeds, by the names that confined tokens have for them
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
	tokens, names := map[[sha256.Size]byte]Token{}, map[string]Token{}
	for n, token := range file.Tokens {
		if err := token.check(); err != nil {
			return fmt.Errorf("parse the token file %q: tokens[%d]: %w", i.path, n, err)
		}
		tokens[sha256.Sum256([]byte(token.Token))] = token
		if token.Seed != "" {
			names[api.TokenName(token.Token)] = token
		}
	}
	i.seen, i.tokens, i.names = info, tokens, names
	return nil
}

// find the identity of a token, with what it is confined to.
func (i *identities) find(bearer string) (who identity, known bool) {
	if token, known := i.tokens[sha256.Sum256([]byte(bearer))]; known {
		who = identity{name: token.Identity, seed: token.Seed, bucket: token.Bucket,
			roles: slices.Clone(token.Roles)}
		who.roles = slices.DeleteFunc(who.roles, func(r Role) bool { return r == RoleControlPlane })
		return who, true
	}
	name, shoot, confined := api.SplitConfined(bearer)
	token, known := i.names[name]
	if !confined || !known || !hmac.Equal([]byte(bearer), []byte(api.ConfinedToken(token.Token, shoot))) {
		return identity{}, false
	}
	return identity{name: token.Identity, seed: token.Seed, shoot: shoot, roles: token.Roles}, true
}

// authenticate finds out who makes a request, and in which scope. Headers win over the scope that rides on a token.
func (i *identities) authenticate(r *http.Request) (identity, api.Scope, error) {
	refused := refusal.Standard(api.CodeUnauthenticated, "")
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
	who, known := i.find(token)
	i.mutex.Unlock()
	if !known {
		if reloadErr != nil {
			return identity{}, api.Scope{}, reloadErr
		}
		return identity{}, api.Scope{}, refused
	}
	given, err := api.ScopeFromHeaders(r.Header)
	if err != nil {
		return who, api.Scope{}, refusal.Invalid("%v", err)
	}
	if given != (api.Scope{}) {
		scope = given
	}
	return who, scope, nil
}
