package embedded

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/pki"
)

// Names of the landscape's own authorities in its PKI folder.
const (
	landscapeCA = "ca"       // of the cloud and other processes of no cluster
	linkCA      = "links-ca" // of all links
)

// keys are the landscape's own authorities.
type keys struct {
	folder    pki.Folder
	landscape *pki.Authority
	links     *pki.Authority
}

func newKeys(dir rundir.Dir) (*keys, error) {
	k := &keys{folder: pki.Folder(dir.Join("pki"))}
	for name, authority := range map[string]**pki.Authority{landscapeCA: &k.landscape, linkCA: &k.links} {
		made, err := pki.NewAuthority("transplant-" + name)
		if err != nil {
			return nil, err
		}
		if err := k.folder.WriteAuthority(name, made); err != nil {
			return nil, fmt.Errorf("write the authority %q of the landscape: %w", name, err)
		}
		*authority = made
	}
	return k, nil
}

// CAFile is the certificate of the authority that signs for the landscape's own servers, the cloud above all.
func (l *Landscape) CAFile() string { return l.keys.folder.Certificate(landscapeCA) }

// LinkCA is the certificate, in PEM, of the authority that signs for links. Kubeconfigs of actors trust it.
func (l *Landscape) LinkCA() []byte { return l.keys.links.PEM() }

// IssueServing makes a certificate for a server of the landscape and returns the paths of certificate and key.
func (l *Landscape) IssueServing(name string, hosts ...string) (certificate, key string, err error) {
	pair, err := l.keys.landscape.Issue(pki.Request{Name: name, Hosts: hosts})
	if err != nil {
		return "", "", err
	}
	if err := l.keys.folder.WriteKeyPair(name, pair); err != nil {
		return "", "", fmt.Errorf("write the certificate of %q: %w", name, err)
	}
	return l.keys.folder.Certificate(name), l.keys.folder.Key(name), nil
}
