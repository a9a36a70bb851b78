package cloud

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/pki"
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

func newProcess(t *testing.T, more ...string) *cloudProcess {
	t.Helper()
	dir := t.TempDir()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(pki.Request{Name: "cloud", Hosts: []string{"127.230.1.2"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := pki.Folder(dir).WriteKeyPair("cloud", pair); err != nil {
		t.Fatal(err)
	}
	p := &cloudProcess{address: freeAddress(t, "127.230.1.2"), names: freeAddress(t, "127.230.1.3"), ca: authority.PEM()}
	p.args = append([]string{
		"--dir=" + filepath.Join(dir, "data"), "--listen=" + p.address, "--dns-listen=" + p.names, "--tokens=" + tokenFile(t),
		"--serving-cert=" + pki.Folder(dir).Certificate("cloud"), "--serving-key=" + pki.Folder(dir).Key("cloud"),
	}, more...)
	t.Cleanup(func() { p.signal(t, syscall.SIGKILL) })
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
	client, err := api.New(&rest.Config{Host: "https://" + p.address, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: p.ca}}, api.Options{})
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
					network, err := client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16", Tags: map[string]string{"key": key}})
					if err != nil {
						return
					}
					object, objectErr := client.Bucket("backups").Put(ctx, key, strings.NewReader("content of "+key), api.PutOptions{CreateOnly: true})
					set, setErr := client.Records(zone.ID).Put(ctx, &api.RecordSet{Name: name, Type: "TXT", TTL: 1, Values: []string{key}}, api.If{})
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
		p.signal(t, syscall.SIGKILL)
		writers.Wait()
		p.start(t)
	}
	checkSurvivors(t, client, zone.ID, networks, objects, versions)
	checkLedger(t, p.as(t, "t-observer"), len(networks))
}

func checkSurvivors(t *testing.T, client *api.Client, zone string, networks map[string]bool, objects map[string]string, versions map[string]int64) {
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
		if content := must(client.Bucket("backups").Read(t.Context(), object.Key))(t); string(content) != "content of "+object.Key {
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
	if took := time.Since(asked); took > 20*time.Second {
		t.Errorf("a follower kept it from ending for %s", took)
	}
	select {
	case err := <-followed:
		if err == nil {
			t.Error("the follower was not told")
		}
	case <-time.After(20 * time.Second):
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
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(output), test.want) {
				t.Errorf("ended with %v: %s; want exit 1 and %q", err, output, test.want)
			}
		})
	}
}

// "The cloud is a value that can be copied": a copy started from a snapshot has the state of that moment, and both go
// on by themselves.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	cloud := start(t, Options{})
	client, ctx := cloud.as(t, "extensions-a"), t.Context()
	bucket := bucketOf(t, client)
	network := must(client.Networks().Create(ctx, &api.Network{CIDR: "10.0.0.0/16"}))(t)
	must(client.Fence(ctx, api.Scope{Shoot: "alpha", Epoch: 3}))(t)
	// More than fits into the buffers on the way, so that the copy is still being made when the next one changes.
	must(bucket.Put(ctx, "a", bytes.NewReader(make([]byte, 32<<20)), api.PutOptions{}))(t)
	must(bucket.Put(ctx, "a/b", strings.NewReader("first"), api.PutOptions{}))(t)
	_, err := client.Snapshot(ctx)
	wantCode(t, err, api.CodeUnauthorized)

	stream := must(cloud.as(t, "admin").Snapshot(ctx))(t)
	// Changed while the copy is being read: the copy must not see it.
	must(bucket.Put(ctx, "a/b", strings.NewReader("second"), api.PutOptions{}))(t)
	path := filepath.Join(t.TempDir(), "snapshot.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.ReadFrom(stream); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}

	copied := start(t, Options{Restore: path})
	other := copied.as(t, "extensions-a")
	if diff := cmp.Diff(network, must(other.Networks().Get(ctx, network.ID))(t)); diff != "" {
		t.Error(diff)
	}
	if got := must(other.Bucket("backups").Read(ctx, "a/b"))(t); string(got) != "first" {
		t.Errorf("the copy reads %q, want what there was at its moment", got)
	}
	_, err = other.WithScope(api.Scope{Shoot: "alpha", Epoch: 2}).Networks().Create(ctx, network)
	wantCode(t, err, api.CodeStaleEpoch)
	if err := other.Networks().Delete(ctx, network.ID); err != nil {
		t.Fatal(err)
	}
	must(client.Networks().Get(ctx, network.ID))(t)
	if got := must(bucket.Read(ctx, "a/b"))(t); string(got) != "second" {
		t.Errorf("the original reads %q", got)
	}
	if kept := contents(t, cloud); kept != 2 {
		t.Errorf("%d contents are kept for two objects after the snapshot", kept)
	}
	if _, err := Open(ctx, Options{Dir: cloud.dir + "2", Tokens: tokenFile(t), Restore: cutShort(t, path)}); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("a snapshot that was cut short is restored with %v", err)
	}
}

func cutShort(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	short := path + ".short"
	if err := os.WriteFile(short, content[:1024], 0o600); err != nil {
		t.Fatal(err)
	}
	return short
}
