package cloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/pki"
)

// runAsCloud makes the test binary the command itself, so that a test can kill it.
const runAsCloud = "TRANSPLANT_TEST_RUN_AS_CLOUD"

func TestMain(m *testing.M) {
	if os.Getenv(runAsCloud) != "" {
		if err := NewCommand().ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// cloudProcess is `transplant cloud` on addresses of its own, which can be killed and started again.
type cloudProcess struct {
	address, names string
	args           []string
	ca             []byte
	command        *exec.Cmd
	output         *strings.Builder
}

// processes counts those of all tests.
var processes atomic.Int32

func newProcess(t *testing.T, more ...string) *cloudProcess {
	t.Helper()
	dir := t.TempDir()
	authority, err := pki.NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	// Addresses that no other process of these tests has: it gets its ports back when it is started again.
	n := processes.Add(1)
	host, names := fmt.Sprintf("127.230.1.%d", n), fmt.Sprintf("127.230.4.%d", n)
	pair, err := authority.Issue(pki.Request{Name: "cloud", Hosts: []string{host}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := pki.Folder(dir).WriteKeyPair("cloud", pair); err != nil {
		t.Fatal(err)
	}
	p := &cloudProcess{address: freeAddress(t, host), names: freeAddress(t, names), ca: authority.PEM()}
	p.args = append([]string{
		"--dir=" + filepath.Join(dir, "data"), "--listen=" + p.address, "--dns-listen=" + p.names, "--tokens=" + tokenFile(t),
		"--serving-cert=" + pki.Folder(dir).Certificate("cloud"), "--serving-key=" + pki.Folder(dir).Key("cloud"),
	}, more...)
	t.Cleanup(func() { p.kill(t) })
	return p
}

func freeAddress(t *testing.T, host string) string {
	t.Helper()
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (p *cloudProcess) start(t *testing.T) {
	t.Helper()
	p.output = &strings.Builder{}
	p.command = exec.Command(os.Args[0], p.args...)
	p.command.Env = append(os.Environ(), runAsCloud+"=1")
	p.command.Stdout, p.command.Stderr = p.output, p.output
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	client := p.as(t, "t-admin")
	eventually(t, "the cloud answers", func() bool {
		_, err := client.Networks().List(t.Context(), api.Filter{})
		return err == nil
	})
}

// kill ends the process as a power cut would, if it runs.
func (p *cloudProcess) kill(t *testing.T) {
	t.Helper()
	if err := p.signal(t, syscall.SIGKILL); err != nil && err.Error() != "signal: killed" {
		t.Errorf("the killed process ended with %v: %s", err, p.output)
	}
}

// signal ends the process, if it runs, and returns how it ended.
func (p *cloudProcess) signal(t *testing.T, signal syscall.Signal) error {
	t.Helper()
	if p.command == nil {
		return nil
	}
	if err := p.command.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	err := p.command.Wait()
	p.command = nil
	return err
}

func (p *cloudProcess) as(t *testing.T, token string) *api.Client {
	t.Helper()
	client, err := api.New(&rest.Config{Host: "https://" + p.address, BearerToken: token,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.ca}}, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Killed in the middle of writes and started again, the cloud has everything it had acknowledged, and of what it had
// not acknowledged each call whole or not at all.
func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.start(t)
	client, ctx := p.as(t, "t-a"), t.Context()
	must(client.Buckets().Create(ctx, &api.Bucket{Name: "backups"}))(t)
	zone := must(client.Zones().Create(ctx, &api.Zone{Name: "shoots.transplant.test"}))(t)
	networks, objects, versions := map[string]bool{}, map[string]string{}, map[string]int64{}
	for round := range 4 {
		var mutex sync.Mutex
		var writers sync.WaitGroup
		var acknowledged atomic.Int64
		for writer := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					key := fmt.Sprintf("round-%d/writer-%d/%d", round, writer, i)
					name := fmt.Sprintf("r%d-w%d.shoots.transplant.test", round, writer)
					network, err := client.Networks().Create(ctx,
						&api.Network{CIDR: "10.0.0.0/16", Tags: map[string]string{"key": key}})
					if err != nil {
						return
					}
					object, objectErr := client.Bucket("backups").Put(ctx, key, strings.NewReader("content of "+key),
						api.PutOptions{CreateOnly: true})
					set, setErr := client.Records(zone.ID).Put(ctx, &api.RecordSet{Name: name, Type: "TXT", TTL: 1,
						Values: []string{key}}, api.If{})
					mutex.Lock()
					networks[network.ID] = true
					if objectErr == nil {
						objects[object.Key] = object.Digest
					}
					if setErr == nil {
						versions[set.ID] = set.Version
					}
					mutex.Unlock()
					acknowledged.Add(1)
				}
			})
		}
		eventually(t, "writes are acknowledged", func() bool { return acknowledged.Load() > 30 })
		p.kill(t)
		writers.Wait()
		p.start(t)
	}
	checkSurvivors(t, client, zone.ID, networks, objects, versions)
	checkLedger(t, p.as(t, "t-observer"), len(networks))
}

func checkSurvivors(t *testing.T, client *api.Client, zone string, networks map[string]bool, objects map[string]string,
	versions map[string]int64) {
	t.Helper()
	found := map[string]bool{}
	for _, network := range must(client.Networks().List(t.Context(), api.Filter{}))(t) {
		found[network.ID] = true
	}
	for id := range networks {
		if !found[id] {
			t.Errorf("network %s was acknowledged and is lost", id)
		}
	}
	for object, err := range client.Bucket("backups").All(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if content := must(client.Bucket("backups").Read(t.Context(), object.Key))(t); string(content) != "content of "+
			object.Key {
			t.Errorf("object %q reads %q", object.Key, content)
		}
		delete(objects, object.Key)
	}
	if len(objects) > 0 {
		t.Errorf("objects were acknowledged and are lost: %v", objects)
	}
	for _, set := range must(client.Records(zone).List(t.Context()))(t) {
		if set.Version < versions[set.ID] {
			t.Errorf("record set %s went back from version %d to %d", set.ID, versions[set.ID], set.Version)
		}
		delete(versions, set.ID)
	}
	if len(versions) > 0 {
		t.Errorf("record sets were acknowledged and are lost: %v", versions)
	}
}

func checkLedger(t *testing.T, observer *api.Client, networks int) {
	t.Helper()
	created := 0
	entries := must(observer.Ledger(t.Context(), api.LedgerQuery{}))(t)
	for i, entry := range entries {
		if entry.Seq != int64(i+1) {
			t.Fatalf("entry %d has number %d", i+1, entry.Seq)
		}
		if entry.Kind == api.KindNetworks && entry.Took() {
			created++
		}
	}
	if created < networks {
		t.Errorf("the ledger has %d creations of networks, %d were acknowledged", created, networks)
	}
}

func TestCommandEndsCleanly(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.start(t)
	followed := make(chan error, 1)
	go func() {
		for _, err := range p.as(t, "t-observer").FollowLedger(t.Context(), api.LedgerQuery{}) {
			followed <- err
			return
		}
	}()
	asked := time.Now()
	if err := p.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("ended with %v: %s", err, p.output)
	}
	if took := time.Since(asked); took > time.Minute {
		t.Errorf("a follower kept it from ending for %s", took)
	}
	select {
	case err := <-followed:
		if err == nil {
			t.Error("the follower got no error")
		}
	case <-time.After(time.Minute):
		t.Error("the follower still follows")
	}
}

func TestCommandRefusesToStart(t *testing.T) {
	t.Parallel()
	busy := newProcess(t)
	busy.start(t)
	dir := strings.TrimPrefix(busy.args[0], "--dir=")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"address taken":     {[]string{"--listen=" + busy.address}, "take the cloud's addresses: listen tcp " + busy.address},
		"DNS address taken": {[]string{"--dns-listen=" + busy.names}, "take the cloud's addresses: listen tcp " + busy.names},
		"folder taken":      {[]string{"--dir=" + dir}, "another process has it"},
		"no token file":     {[]string{"--tokens=/nonexistent"}, "look at the token file"},
		"no certificate":    {[]string{"--serving-cert=/nonexistent"}, "load the serving certificate"},
		"bucket unknown":    {[]string{"--bucket-url=nonsense://x"}, `open the bucket of objects "nonsense://x"`},
		"no snapshot":       {[]string{"--restore=/nonexistent"}, "open the snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, test.args...)
			command := exec.Command(os.Args[0], p.args...)
			command.Env = append(os.Environ(), runAsCloud+"=1")
			output, err := command.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(output),
				test.want) {
				t.Errorf("ended with %v: %s; want exit 1 and %q", err, output, test.want)
			}
		})
	}
}
