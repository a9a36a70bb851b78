package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// keepsSecrets: the secrets of the landscape are in no file of etcd's, in no log, and in nothing that processes show of
// themselves.
func (a *attacked) keepsSecrets(t *testing.T) {
	all := a.secrets(t)
	t.Logf("%d pieces of secrets", len(all))
	for name, check := range map[string]func(*testing.T, secrets){
		"etcd's files": a.etcdKeeps, "logs": a.logsKeep, "processes": a.processesKeep, "files that others may read": a.opened,
	} {
		t.Run(name, func(t *testing.T) { check(t, all) })
	}
}

// etcdKeeps what is secret from whoever reads the files of the etcd of garden and seeds: those of its log, which have
// deleted and older values, its database and its snapshots.
func (a *attacked) etcdKeeps(t *testing.T, all secrets) {
	for cluster, c := range a.clients() {
		open := a.control(t, c, cluster)
		looked := maps.Clone(all)
		maps.Copy(looked, open)
		finder, files := newFinder(looked), 0
		a.walk(t, func(path, name string) {
			if !strings.HasPrefix(name, filepath.Join("clusters", cluster, "etcd")+"/") {
				return
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return // it has gone meanwhile
			}
			files++
			for piece, at := range finder.in(content) {
				if _, is := open[piece]; is {
					delete(open, piece)
				} else if _, is := all[piece]; is {
					t.Errorf("%s has a secret of %s, after %s", name, all[piece], near(content, at))
				}
			}
		})
		if len(open) > 0 || files < 2 {
			t.Errorf("in %d files of %s these were not found: %v", files, cluster, slices.Sorted(maps.Values(open)))
		}
	}
}

// control writes what is not encrypted, in each form in which a secret may be written, and returns what must be found.
func (a *attacked) control(t *testing.T, c client.Client, cluster string) secrets {
	t.Helper()
	all, data := secrets{}, map[string]string{}
	for i, name := range []string{"plain", "encoded", "encoded-1", "encoded-2", "twice"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		config := clientcmdapi.NewConfig()
		config.AuthInfos["control"] = &clientcmdapi.AuthInfo{Token: rand.Text(),
			ClientKeyData: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
		content, err := clientcmd.Write(*config)
		if err != nil {
			t.Fatal(err)
		}
		written := secrets{}
		written.gather("the "+name+" control of "+cluster, content)
		if len(written) != 3 { // a token, and the private half of a key as such and in PEM
			t.Fatalf("gathered %d pieces of a kubeconfig", len(written))
		}
		delete(written, string(private(der)))
		text := string(content)
		if i > 0 {
			text = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", i%3) + text))
		}
		if name == "twice" { // but for the key, which is in base64 already
			text = base64.StdEncoding.EncodeToString([]byte(text))
			maps.DeleteFunc(written, func(piece, _ string) bool {
				return piece != config.AuthInfos["control"].Token
			})
		}
		data[name] = text
		maps.Copy(all, written)
	}
	object := &corev1.ConfigMap{Data: data, ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, GenerateName: "control-"}}
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return all
}

// logFile is the name of a log, or of an older one of it.
var logFile = regexp.MustCompile(`\.log(\.1)?$`)

// logsKeep what is secret: those of the landscape, its clusters and the containers of pods.
func (a *attacked) logsKeep(t *testing.T, all secrets) {
	// What the actors on the seed have to do with the victim is in their logs.
	finder, logs, known := newFinder(all), 0, newFinder(secrets{technicalID(victim): "the victim"})
	const ofClusters, ofPods, ofMachines = "clusters/b/logs/", "clusters/b/pods/", "nodes/"
	seen := map[string]bool{}
	a.walk(t, func(path, name string) {
		content, err := os.ReadFile(path)
		if !logFile.MatchString(name) || err != nil {
			return
		}
		logs++
		for piece, at := range finder.in(content) {
			t.Errorf("%s has a secret of %s, after %s", name, all[piece], near(content, at))
		}
		for _, kind := range []string{ofClusters, ofPods, ofMachines} {
			seen[kind] = seen[kind] || strings.HasPrefix(name, kind) && len(content) > 0
		}
		seen["the victim"] = seen["the victim"] || len(known.in(content)) > 0
	})
	if len(seen) < 4 || slices.Contains(slices.Collect(maps.Values(seen)), false) {
		t.Errorf("among %d logs, these were found: %v", logs, seen)
	}
}

// processesKeep what is secret: what runs below this process has none in its arguments and its environment.
func (a *attacked) processesKeep(t *testing.T, all secrets) {
	programs, err := process.ProgramsBelow(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	finder, own := newFinder(all), 0
	for _, one := range programs {
		text := strings.Join(one.Args, "\x00")
		for key, value := range one.Env {
			text += "\x00" + key + "=" + value
		}
		for piece := range finder.in([]byte(text)) {
			t.Errorf("process %d, %.100q, shows a secret of %s", one.PID, one.Args, all[piece])
		}
		if one.Env[embedded.DirVariable] == a.landscape.Dir().Path {
			own++
		}
	}
	// Three clusters of five programs each, the cloud, the machines, and a kwok for each of two shoots with workers.
	if own < 19 || len(programs) < 40 {
		t.Errorf("only %d processes were found, with %d of the landscape's own", len(programs), own)
	}
}
