package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
)

func authority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestIssue(t *testing.T) {
	t.Parallel()
	mine, other := authority(t), authority(t)
	pair, err := mine.Issue(Request{Name: "kube-apiserver", Groups: []string{"g"},
		Hosts: []string{"127.17.0.1", "api.shoot.test"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf := pair.Leaf
	if diff := cmp.Diff([]string{"g"}, leaf.Subject.Organization); diff != "" ||
		leaf.Subject.CommonName != "kube-apiserver" {
		t.Errorf("the subject is %v", leaf.Subject)
	}
	for _, host := range []string{"127.17.0.1", "api.shoot.test"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: mine.Pool(), DNSName: host}); err != nil {
			t.Errorf("serve %s: %v", host, err)
		}
	}
	var wrongHost x509.HostnameError
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: mine.Pool(), DNSName: "127.17.0.2"}); !errors.As(err, &wrongHost) {
		t.Errorf("serve another address: got %v, want a HostnameError", err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: other.Pool()}); !errors.As(err, &unknown) {
		t.Errorf("verify with another authority: got %v, want an UnknownAuthorityError", err)
	}
}

func TestClientsMayNotServe(t *testing.T) {
	t.Parallel()
	a := authority(t)
	pair, err := a.Issue(Request{Name: "client"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var invalid x509.CertificateInvalidError
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: a.Pool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if !errors.As(err, &invalid) || invalid.Reason != x509.IncompatibleUsage {
		t.Errorf("serve with a client's certificate: got %v, want incompatible usage", err)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: a.Pool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		t.Error(err)
	}
}

func TestIssuePEM_EncodedAuthority_SignsForWhatIsRequested(t *testing.T) {
	t.Parallel()
	now := time.Unix(1700000000, 0)
	made, err := NewAuthority("test", now)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := PEM(made.KeyPair())
	if err != nil {
		t.Fatal(err)
	}
	request := Request{Name: "x", Hosts: []string{"x"}, Valid: time.Hour, Backdate: time.Minute, ServerOnly: true}
	issued, issuedKey, err := IssuePEM(certificate, key, request, now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(issued, issuedKey)
	if err != nil {
		t.Fatal(err)
	}
	serves := x509.VerifyOptions{Roots: made.Pool(), DNSName: "x", CurrentTime: now.Add(time.Minute)}
	if _, err := pair.Leaf.Verify(serves); err != nil {
		t.Error(err)
	}
	client, early, late := serves, serves, serves
	client.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	early.CurrentTime, late.CurrentTime = now.Add(-2*time.Minute), now.Add(2*time.Hour)
	for name, test := range map[string]struct {
		options x509.VerifyOptions
		want    x509.InvalidReason
	}{
		"client": {client, x509.IncompatibleUsage}, "early": {early, x509.Expired}, "late": {late, x509.Expired},
	} {
		var invalid x509.CertificateInvalidError
		if _, err := pair.Leaf.Verify(test.options); !errors.As(err, &invalid) || invalid.Reason != test.want {
			t.Errorf("%s: got %v, want reason %d", name, err, test.want)
		}
	}
	if _, _, err := IssuePEM(certificate, nil, request, now); err == nil {
		t.Error("an authority without a key has signed")
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	folder := Folder(filepath.Join(t.TempDir(), "pki"))
	a := authority(t)
	pair, err := a.Issue(Request{Name: "x", Hosts: []string{"x"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{folder.WriteAuthority("ca", a), folder.WriteKeyPair("x", pair),
		folder.WriteSigningKey("sa")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{folder.Key("ca"), folder.Key("x"), folder.Key("sa")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 600", path, info, err)
		}
	}
	if info, err := os.Stat(string(folder)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v; want mode 700", info, err)
	}
	loaded, err := tls.LoadX509KeyPair(folder.Certificate("x"), folder.Key("x"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pair.Certificate, loaded.Certificate); diff != "" {
		t.Error(diff)
	}
	if kept, err := folder.ReadAuthority("ca"); err != nil || !kept.Certificate.Equal(a.Certificate) {
		t.Errorf("the authority that was written is not the one that is read: %v", err)
	} else if again, err := kept.Issue(Request{Name: "x"}, time.Now()); err != nil || again.Leaf.CheckSignatureFrom(
		a.Certificate) != nil {
		t.Errorf("what it signs is not signed by the other: %v", err)
	}
	if _, err := folder.ReadAuthority("none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an authority that is not there: %v", err)
	}
	public, err := os.ReadFile(folder.PublicKey("sa"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(public)
	if block == nil || block.Type != "PUBLIC KEY" {
		t.Fatalf("the public key is %q", public)
	}
	if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		t.Error(err)
	}
}

func TestKeysWithoutCertificates_AreInTheFormsThatProgramsRead(t *testing.T) {
	t.Parallel()
	key, err := RSAKey()
	if err != nil {
		t.Fatal(err)
	}
	if block, _ := pem.Decode(key); block == nil || block.Type != "RSA PRIVATE KEY" {
		t.Errorf("the RSA key is %q", key)
	} else if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
		t.Error(err)
	}
	private, public, err := SSHKey("gardener")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(ssh.MarshalAuthorizedKey(signer.PublicKey())), string(public)); diff != "" {
		t.Errorf("the public SSH key (-want +got):\n%s", diff)
	}
}
