// Package podname is about the names by which a pod finds itself and others: its host name, /etc/hosts and
// /etc/resolv.conf. There is no cluster DNS.
package podname

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Files in the pod's folder that its containers see in /etc.
const (
	HostsFile  = "hosts"
	ResolvFile = "resolv.conf"
)

// Hostname of a pod, cut to what Linux takes.
func Hostname(pod *corev1.Pod) string {
	name := cmp.Or(pod.Spec.Hostname, pod.Name)
	if len(name) > 63 { // the longest name that Linux takes
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

// WriteFiles writes into a folder how the pod finds itself and others by name.
func WriteFiles(folder string, pod *corev1.Pod, ip string) error {
	if err := os.WriteFile(filepath.Join(folder, HostsFile), hosts(pod, ip), 0o644); err != nil {
		return fmt.Errorf("write the pod's hosts file: %w", err)
	}
	if content := resolvConf(pod); content != nil {
		if err := os.WriteFile(filepath.Join(folder, ResolvFile), content, 0o644); err != nil {
			return fmt.Errorf("write the pod's resolver configuration: %w", err)
		}
	}
	return nil
}

func hosts(pod *corev1.Pod, ip string) []byte {
	var out bytes.Buffer
	out.WriteString("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n")
	name := Hostname(pod)
	if pod.Spec.Subdomain != "" {
		name = fmt.Sprintf("%s.%s.%s.svc.cluster.local\t%s", name, pod.Spec.Subdomain, pod.Namespace, name)
	}
	fmt.Fprintf(&out, "%s\t%s\n", ip, name)
	for _, alias := range pod.Spec.HostAliases {
		fmt.Fprintf(&out, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
	return out.Bytes()
}

// resolvConf is the resolver configuration that a pod brings itself, or nil for the host's. There is no cluster DNS.
func resolvConf(pod *corev1.Pod) []byte {
	config := pod.Spec.DNSConfig
	if config == nil || pod.Spec.DNSPolicy != corev1.DNSNone {
		return nil
	}
	var out bytes.Buffer
	for _, server := range config.Nameservers {
		fmt.Fprintf(&out, "nameserver %s\n", server)
	}
	if len(config.Searches) > 0 {
		fmt.Fprintf(&out, "search %s\n", strings.Join(config.Searches, " "))
	}
	for _, option := range config.Options {
		out.WriteString("options " + option.Name)
		if option.Value != nil {
			out.WriteString(":" + *option.Value)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}
