package kind

// LinkCA is the certificate, in PEM, of the authority that signs for links. Kubeconfigs of actors trust it.
func (l *Landscape) LinkCA() []byte { return l.keys.Links.PEM() }

// IssueServing makes a certificate for a server of the landscape and returns the paths of certificate and key.
func (l *Landscape) IssueServing(name string, hosts ...string) (certificate, key string, err error) {
	return l.keys.IssueServing(name, hosts...)
}
