package ownership

import "k8s.io/client-go/rest"

// ReadConfig is that of a client which reads an authority, paced by the interval. With HTTP/1.1 a read that missed its
// deadline takes its connection with it, and the next one dials anew: a connection that has died without a word costs
// one read, not the 45 s that HTTP/2 needs to notice.
func ReadConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.NextProtos = []string{"http/1.1"}
	return config
}
