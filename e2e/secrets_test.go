package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// secrets are pieces of text that nobody else may see, and where each is from. A piece is too long to be a
// coincidence, and lies in one line of whatever it is written into.
type secrets map[string]string

// shortest piece: a shorter value is a port, a name or a word, and no key or token of anybody.
const shortest = 12

// oneWord is a value without blanks and line ends. A file in JSON or YAML is none: what is secret in it is gathered
// from it.
var oneWord = regexp.MustCompile(`^[^\s{}]{12,}$`)

// inDocument is what tokens and keys are called in the files of a landscape that are no kubeconfigs.
var inDocument = regexp.MustCompile(`(?m)^[\s-]*(?:token|secret): ["']?([^\s"']{12,})`)

// gather what is secret in the content of a Secret or a file: private keys, tokens and passwords. Certificates and
// public keys are shown to whoever connects, and the rest of a kubeconfig to whoever resolves a name.
func (s secrets) gather(from string, content []byte) {
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		s.key(from, block)
	}
	if config, err := clientcmd.Load(content); err == nil {
		for _, user := range config.AuthInfos {
			s.add(from, user.Token)
			s.add(from, user.Password)
			s.gather(from, user.ClientKeyData)
		}
	}
	if data, err := cloud.ParseNodeUserData(string(content)); err == nil {
		s.add(from, data.Token)
	}
	if strings.HasSuffix(from, ".csv") {
		for line := range strings.Lines(string(content)) {
			token, _, _ := strings.Cut(line, ",")
			s.add(from, token)
		}
		return
	}
	for _, found := range inDocument.FindAllSubmatch(content, -1) {
		s.add(from, string(found[1]))
	}
	if text := bytes.TrimSpace(content); oneWord.Match(text) {
		s.add(from, string(text))
	}
}

// add a token or password. Of one for the cloud the scope is public, of a long one the end is enough: of a signed one
// it is the signature.
func (s secrets) add(from, text string) {
	if plain, _, err := cloud.SplitToken(text); err == nil {
		text = plain
	}
	if text = text[max(0, len(text)-64):]; len(text) >= shortest {
		s[text] = from
	}
}

// key adds what is private in a private key: its public half is in certificates, too.
func (s secrets) key(from string, block *pem.Block) {
	half := private(block.Bytes)
	at := bytes.Index(block.Bytes, half)
	if half == nil || at < 0 {
		return
	}
	s[string(half)] = from
	// Of the base64 between the lines of PEM, which have 64 characters, that which stands for these bytes alone.
	body := base64.StdEncoding.EncodeToString(block.Bytes)
	longest := ""
	for first, end := (at*8+5)/6, (at+len(half))*8/6; first < end; {
		last := min(end, (first/64+1)*64)
		if last-first > len(longest) {
			longest = body[first:last]
		}
		first = last
	}
	if len(longest) >= shortest {
		s[longest] = from
	}
}

// private part of a private key in DER; nil for anything else.
func private(der []byte) []byte {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		if key, err = x509.ParseECPrivateKey(der); err != nil {
			key, _ = x509.ParsePKCS1PrivateKey(der)
		}
	}
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		if scalar, err := key.Bytes(); err == nil {
			return scalar
		}
	case ed25519.PrivateKey:
		return key.Seed()
	case *rsa.PrivateKey:
		if key != nil {
			return key.Primes[0].Bytes()
		}
	}
	return nil
}

// secrets of the landscape: of its Secrets in garden and seeds, as the administrators read them, and of the files that
// make it up.
func (a *attacked) secrets(t *testing.T) secrets {
	t.Helper()
	all := secrets{}
	for cluster, c := range a.clients() {
		list := &corev1.SecretList{}
		if err := c.List(t.Context(), list); err != nil || len(list.Items) == 0 {
			t.Fatalf("%s has %d Secrets: %v", cluster, len(list.Items), err)
		}
		for _, secret := range list.Items {
			for key, content := range secret.Data {
				all.gather(strings.Join([]string{"Secret", cluster, secret.Namespace, secret.Name, key}, "/"), content)
			}
		}
	}
	// A Secret may name an object, as that of a shoot's backups names a bucket and a folder in it. Names are public.
	buckets, entries := &gardencorev1beta1.BackupBucketList{}, &gardencorev1beta1.BackupEntryList{}
	if err := errors.Join(a.garden.List(t.Context(), buckets), a.garden.List(t.Context(), entries)); err != nil {
		t.Fatal(err)
	}
	for _, bucket := range buckets.Items {
		delete(all, bucket.Name)
	}
	for _, entry := range entries.Items {
		delete(all, entry.Name)
	}
	if len(all) < 100 {
		t.Fatalf("the Secrets of garden and seeds have only %d pieces", len(all))
	}
	files := 0
	a.walk(t, func(path, name string) {
		base := filepath.Base(name)
		isSecret := strings.HasSuffix(name, ".key") || strings.HasSuffix(name, "kubeconfig") || base == "tokens.csv" ||
			base == "cloud-tokens.yaml" || base == "encryption.yaml" || base == "token" && strings.Contains(name, "/pods/")
		if content, err := os.ReadFile(path); isSecret && err == nil {
			files++
			all.gather(name, content)
		}
	})
	if files < 50 {
		t.Errorf("only %d files with secrets were found", files)
	}
	all.add("the environment of the test", os.Getenv(secretVariable))
	return all
}

// walk over the files of the landscape, by their paths and their names below its folder. Sockets are files, too.
func (a *attacked) walk(t *testing.T, see func(path, name string)) {
	t.Helper()
	root := a.landscape.Dir().Path
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it has gone meanwhile
		}
		if err == nil && (entry.Type().IsRegular() || entry.Type() == fs.ModeSocket) {
			name, _ := filepath.Rel(root, path)
			see(path, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forms of a piece as it is written: plain, in base64 at each of the three places where it can begin in a group of
// bytes, and in base64 of that.
func forms(piece string) []string {
	all := []string{piece}
	for _, once := range inBase64(piece) {
		all = append(append(all, once), inBase64(once)...)
	}
	return all
}

// inBase64 is what stands for the piece alone, wherever it begins.
func inBase64(piece string) (all []string) {
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + piece))
		all = append(all, encoded[(before*8+5)/6:(before+len(piece))*8/6])
	}
	return all
}

// needle is one form of a piece.
type needle struct{ form, piece string }

// finder looks for many needles at once.
type finder struct {
	first [1 << 16]bool // two bytes
	by    map[uint64][]needle
}

func newFinder(all secrets) *finder {
	f := &finder{by: map[uint64][]needle{}}
	for piece := range all {
		for _, form := range forms(piece) {
			f.first[binary.BigEndian.Uint16([]byte(form))] = true
			begin := binary.BigEndian.Uint64([]byte(form))
			f.by[begin] = append(f.by[begin], needle{form, piece})
		}
	}
	return f
}

// in a content, these pieces are, each with where it was found first.
func (f *finder) in(content []byte) map[string]int {
	found := map[string]int{}
	for i := 0; i+8 <= len(content); i++ {
		if !f.first[uint16(content[i])<<8|uint16(content[i+1])] {
			continue
		}
		for _, n := range f.by[binary.BigEndian.Uint64(content[i:])] {
			if _, known := found[n.piece]; !known && bytes.HasPrefix(content[i:], []byte(n.form)) {
				found[n.piece] = i
			}
		}
	}
	return found
}

// near is what can be read before a place in a content: in etcd's files it has the key of the object.
func near(content []byte, at int) string {
	before := content[max(0, at-600):at]
	if key := bytes.LastIndex(before, []byte("/registry/")); key >= 0 {
		before = before[key:min(len(before), key+100)]
	} else {
		before = before[max(0, len(before)-100):]
	}
	return fmt.Sprintf("%q", before)
}
