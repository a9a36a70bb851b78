package kind

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/pki"
)

// Names of the landscape's own authorities in its PKI folder.
const (
	landscapeCA = "ca"       // of the cloud and other companions
	linkCA      = "links-ca" // of all links
)

// keys are the landscape's own authorities.
type keys struct {
	folder    pki.Folder
	landscape *pki.Authority
	links     *pki.Authority
}

func newKeys(folder pki.Folder) (keys, error) {
	k := keys{folder: folder}
	for name, authority := range map[string]**pki.Authority{landscapeCA: &k.landscape, linkCA: &k.links} {
		made, err := pki.NewAuthority("transplant-" + name)
		if err != nil {
			return keys{}, err
		}
		if err := folder.WriteAuthority(name, made); err != nil {
			return keys{}, fmt.Errorf("write the authority %q of the landscape: %w", name, err)
		}
		*authority = made
	}
	return k, nil
}

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
