package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/address"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/fakewatch"
)

const bound = time.Minute

// Addresses of the tests' own, each its slice's.
func slice(third, fourth byte) netip.Addr { return netip.AddrFrom4([4]byte{127, 243, third, fourth}) }

func start(t *testing.T) (*Forwarder, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	balancers, err := address.Open(netip.PrefixFrom(slice(192, 0), 18), filepath.Join(t.TempDir(), "addresses.json"))
	if err != nil {
		t.Fatal(err)
	}
	f := &Forwarder{
		Client: client, Services: factory.Core().V1().Services().Lister(), Pods: factory.Core().V1().Pods().Lister(),
		LoadBalancers: balancers, ServiceAddresses: netip.PrefixFrom(slice(128, 0), 18), Node: slice(0, 1),
		Recorder: record.NewFakeRecorder(100), Log: logr.Discard(), Clock: clock.RealClock{},
	}
	if err := f.Watch(factory.Core().V1().Services().Informer(), factory.Core().V1().Pods().Informer()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	fakewatch.Start(ctx, client, factory)
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended; factory.Shutdown() })
	return f, client
}

func web(ip string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web"}, Spec: corev1.ServiceSpec{
		ClusterIP: ip, ClusterIPs: []string{ip}, Selector: map[string]string{"app": "web"},
		Ports: []corev1.ServicePort{{Port: 8080, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
	}}
}

func pod(name string, ip netip.Addr, ready bool) *corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 9000, Protocol: corev1.ProtocolTCP},
		}}}},
		Status: corev1.PodStatus{
			PodIP: ip.String(), Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}},
		},
	}
}

// server echoes what it hears, with its name before it, until the client has said all.
func server(t *testing.T, name string, ip netip.Addr) {
	t.Helper()
	listener, err := net.Listen("tcp4", netip.AddrPortFrom(ip, 9000).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				fmt.Fprint(connection, name+":")
				_, _ = io.Copy(connection, connection)
			}()
		}
	}()
}

// talk opens a connection, says hello, closes its own direction and returns all it hears.
func talk(front string) (string, error) {
	connection, err := net.DialTimeout("tcp4", front, bound)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if _, err := fmt.Fprint(connection, "hello"); err != nil {
		return "", err
	}
	// a reset was faster, which the read reports
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
		return "", err
	}
	content, err := io.ReadAll(connection)
	return string(content), err
}

// await polls until enough connections in a row are answered by exactly these pods.
func await(t *testing.T, front string, names ...string) {
	t.Helper()
	var heard []string
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, bound, true,
		func(context.Context) (bool, error) {
			heard = nil
			for range 2 * max(1, len(names)) {
				answer, err := talk(front)
				if err != nil {
					answer = "?"
					if errors.Is(err, syscall.ECONNREFUSED) {
						answer = "refused"
					}
				}
				heard = append(heard, strings.TrimSuffix(answer, ":hello"))
			}
			slices.Sort(heard)
			heard = slices.Compact(heard)
			return slices.Equal(heard, names), nil
		})
	if err != nil {
		t.Fatalf("%s is answered by %q, want %q", front, heard, names)
	}
}

// Where a cloud has given an address to a load balancer, connections to it go to the pods as well.
func TestFronts_OfALoadBalancer_AreTheAddressesOfOurRanges(t *testing.T) {
	t.Parallel()
	balanced := web(slice(128, 7).String())
	balanced.Spec.Type = corev1.ServiceTypeLoadBalancer
	balanced.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.16.128.9"}, {IP: "198.18.0.1"}}
	own := slice(128, 7).String() + ":8080"
	for name, c := range map[string]struct {
		balances string
		want     string
	}{
		"nobody here":      {"", own},
		"the cloud, here":  {"127.16.128.0/17", own + " 127.16.128.9:8080"},
		"the cloud, there": {"127.24.128.0/17", own},
	} {
		f := &Forwarder{ServiceAddresses: netip.PrefixFrom(slice(128, 0), 18)}
		if c.balances != "" {
			f.Balanced = netip.MustParsePrefix(c.balances)
		}
		got := strings.Trim(fmt.Sprint(f.fronts(balanced, &balanced.Spec.Ports[0])), "[]")
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestConnectionsGoToReadyPods(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	a, b := slice(64, 1), slice(64, 2)
	server(t, "a", a)
	server(t, "b", b)
	services, pods := client.CoreV1().Services("n"), client.CoreV1().Pods("n")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	front := slice(128, 1).String() + ":8080"
	must(services.Create(t.Context(), web(slice(128, 1).String()), metav1.CreateOptions{}))
	await(t, front, "refused")
	must(pods.Create(t.Context(), pod("a", a, true), metav1.CreateOptions{}))
	must(pods.Create(t.Context(), pod("b", b, false), metav1.CreateOptions{}))
	await(t, front, "a")
	must(pods.Update(t.Context(), pod("b", b, true), metav1.UpdateOptions{}))
	await(t, front, "a", "b")

	existing, err := net.Dial("tcp4", front)
	if err != nil {
		t.Fatal(err)
	}
	defer existing.Close()
	must(pods.Update(t.Context(), pod("a", a, false), metav1.UpdateOptions{}))
	ending := pod("b", b, true)
	ending.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	ending.Finalizers = []string{"x"}
	must(pods.Update(t.Context(), ending, metav1.UpdateOptions{}))
	await(t, front, "b") // nobody else is left
	must(nil, pods.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	await(t, front, "refused")
	if _, err := fmt.Fprint(existing, "still here"); err != nil {
		t.Error(err)
	}
	if err := existing.(*net.TCPConn).CloseWrite(); err != nil {
		t.Error(err)
	}
	if content, err := io.ReadAll(existing); err != nil || !strings.HasSuffix(string(content), ":still here") {
		t.Errorf("an existing connection heard %q, %v", content, err)
	}

	withNotReady := web(slice(128, 1).String())
	withNotReady.Spec.PublishNotReadyAddresses = true
	must(services.Update(t.Context(), withNotReady, metav1.UpdateOptions{}))
	await(t, front, "a")
	must(nil, services.Delete(t.Context(), "web", metav1.DeleteOptions{}))
	await(t, front, "refused")
}

func TestResetsPass(t *testing.T) {
	t.Parallel()
	ip := slice(64, 3)
	listener, err := net.Listen("tcp4", netip.AddrPortFrom(ip, 9000).String())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = connection.Read(make([]byte, 1))
		reset(connection.(*net.TCPConn))
	}()
	l, err := open(netip.AddrPortFrom(slice(128, 3), 8080), []string{netip.AddrPortFrom(ip, 9000).String()},
		logr.Discard(), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if content, err := talk(slice(128, 3).String() + ":8080"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %q, %v, want a reset", content, err)
	}
	listener.Close()
	if content, err := talk(slice(128, 3).String() + ":8080"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("of a pod that does not listen: got %q, %v, want a reset", content, err)
	}
}

func TestLoadBalancersKeepTheirAddress(t *testing.T) {
	t.Parallel()
	f, client := start(t)
	ip := slice(64, 4)
	server(t, "a", ip)
	service := web(slice(128, 4).String())
	service.Spec.Type = corev1.ServiceTypeLoadBalancer
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod("a", ip, true), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services("n").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, slice(192, 1).String()+":8080", "a")
	got, err := client.CoreV1().Services("n").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || len(got.Status.LoadBalancer.Ingress) != 1 || got.Status.LoadBalancer.Ingress[0].IP != slice(192,
		1).String() {
		t.Errorf("the status is %+v, %v", got.Status, err)
	}
	if owner := f.LoadBalancers.Owners(); !slices.Equal(owner, []string{"n/web"}) {
		t.Errorf("the owners are %v", owner)
	}
	if err := client.CoreV1().Services("n").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, slice(192, 1).String()+":8080", "refused")
}

func TestForwarder_AddressIsTaken_RecordsAnEvent(t *testing.T) {
	t.Parallel()
	f, client := start(t)
	ip, front := slice(64, 5), netip.AddrPortFrom(slice(128, 5), 8080)
	server(t, "a", ip)
	other, err := net.Listen("tcp4", front.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("n").Create(t.Context(), pod("a", ip, true), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services("n").Create(t.Context(), web(front.Addr().String()),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-f.Recorder.(*record.FakeRecorder).Events:
		if !strings.Contains(event, "FailedListen") || !strings.Contains(event, "address already in use") {
			t.Errorf("got the event %q", event)
		}
	case <-time.After(bound):
		t.Fatal("no event")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, front.String(), "a")
}
