// Package authorities keeps the certificate authorities that a landscape has beside those of its clusters.
package authorities

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/transplant-sim/transplant/api/pki"
)

// Names of the landscape's own authorities in its folder.
const (
	landscapeCA = "ca"       // of the cloud and other programs of no cluster
	linkCA      = "links-ca" // of all links
)

// Landscape has the landscape's own authorities: Servers signs for the cloud and other programs of no cluster, Links
// for all links.
type Landscape struct {
	Servers, Links *pki.Authority

	folder pki.Folder
}

// New makes the authorities and keeps them in a folder. A folder that has them keeps them.
func New(folder string) (*Landscape, error) {
	l := &Landscape{folder: pki.Folder(folder)}
	for name, authority := range map[string]**pki.Authority{landscapeCA: &l.Servers, linkCA: &l.Links} {
		kept, err := l.folder.ReadAuthority(name)
		if !errors.Is(err, os.ErrNotExist) {
			if *authority = kept; err != nil {
				return nil, err
			}
			continue
		}
		made, err := pki.NewAuthority("transplant-"+name, time.Now())
		if err != nil {
			return nil, err
		}
		if err := l.folder.WriteAuthority(name, made); err != nil {
			return nil, fmt.Errorf("write the authority %q of the landscape: %w", name, err)
		}
		*authority = made
	}
	return l, nil
}

// TLS is for clients of servers.
func (l *Landscape) TLS() *tls.Config {
	return &tls.Config{RootCAs: l.Servers.Pool(), MinVersion: tls.VersionTLS12}
}

// IssueServing makes a certificate for a server of the landscape and returns the paths of certificate and key.
func (l *Landscape) IssueServing(name string, hosts ...string) (certificate, key string, err error) {
	pair, err := l.Servers.Issue(pki.Request{Name: name, Hosts: hosts}, time.Now())
	if err != nil {
		return "", "", err
	}
	if err := l.folder.WriteKeyPair(name, pair); err != nil {
		return "", "", fmt.Errorf("write the certificate of %q: %w", name, err)
	}
	return l.folder.Certificate(name), l.folder.Key(name), nil
}
