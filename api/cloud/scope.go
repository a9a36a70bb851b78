package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Headers that carry a call's scope.
const (
	HeaderShoot = "Transplant-Shoot"
	HeaderEpoch = "Transplant-Epoch"
)

// Scope says for which shoot, and as which owner epoch of it, a call is made (docs/ownership.md#spec-9-1). Shoot is the
// shoot's technical id. An epoch of 0 is none: such a call is recorded under the shoot and never refused as stale.
type Scope struct {
	Shoot string `json:"shoot,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
}

type scopeKey struct{}

// WithScope makes all calls under the context carry the scope; it wins over the client's own.
func WithScope(ctx context.Context, scope Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// ScopeFrom is the scope that WithScope has set.
func ScopeFrom(ctx context.Context) (Scope, bool) {
	scope, ok := ctx.Value(scopeKey{}).(Scope)
	return scope, ok
}

// SetHeaders writes the scope into a request's headers.
func (s Scope) SetHeaders(header http.Header) {
	if s.Shoot != "" {
		header.Set(HeaderShoot, s.Shoot)
	}
	if s.Epoch != 0 {
		header.Set(HeaderEpoch, strconv.FormatInt(s.Epoch, 10))
	}
}

// ScopeFromHeaders is the opposite of SetHeaders.
func ScopeFromHeaders(header http.Header) (Scope, error) {
	scope := Scope{Shoot: header.Get(HeaderShoot)}
	text := header.Get(HeaderEpoch)
	if text == "" {
		return scope, nil
	}
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil || epoch < 0 || scope.Shoot == "" {
		return Scope{}, fmt.Errorf("read the scope of shoot %q, epoch %q: an epoch is a positive number and needs a shoot",
			scope.Shoot, text)
	}
	scope.Epoch = epoch
	return scope, nil
}

// scopeMark separates a token from the scope that rides on it. It is legal in a bearer token and in no base64url.
const scopeMark = "~"

// ScopedToken is a credential that carries a scope, for extensions that know nothing of epochs and send whatever
// token their credentials hold (docs/ownership.md#o8).
func ScopedToken(token string, scope Scope) string {
	content, err := json.Marshal(scope)
	if err != nil {
		panic(err) // a string and a number always marshal
	}
	return token + scopeMark + base64.RawURLEncoding.EncodeToString(content)
}

// SplitToken is the opposite of ScopedToken; a token without scope has the zero Scope.
func SplitToken(bearer string) (string, Scope, error) {
	token, encoded, found := strings.Cut(bearer, scopeMark)
	if !found {
		return bearer, Scope{}, nil
	}
	content, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", Scope{}, fmt.Errorf("decode the scope of a token: %w", err)
	}
	var scope Scope
	if err := json.Unmarshal(content, &scope); err != nil {
		return "", Scope{}, fmt.Errorf("parse the scope of a token: %w", err)
	}
	return token, scope, nil
}

// confinedMark separates the parts of a confined token. It is legal in a bearer token, and not in a technical id.
const confinedMark = "."

// ConfinedToken is a credential for one shoot, by its technical id. It is made of a token that is good for all shoots
// of a seed, without asking anybody (docs/adr/0017). Whoever has it cannot make that token of it, nor one for another
// shoot. A scope of the same shoot can ride on it.
func ConfinedToken(token, shoot string) string {
	return strings.Join([]string{TokenName(token), shoot, keyed(token, "shoot "+shoot)}, confinedMark)
}

// TokenName is how confined tokens name the one that they are made of.
func TokenName(token string) string { return keyed(token, "name") }

// SplitConfined reads, of a confined token, the name of the one that it is made of, and the shoot. It does not check
// that the token is valid.
func SplitConfined(token string) (name, shoot string, confined bool) {
	parts := strings.Split(token, confinedMark)
	if len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// keyed is a digest that only who has the key can make.
func keyed(key, text string) string {
	digest := hmac.New(sha256.New, []byte(key))
	digest.Write([]byte(text))
	return hex.EncodeToString(digest.Sum(nil))
}
