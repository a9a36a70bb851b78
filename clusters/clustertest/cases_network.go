package clustertest

import (
	"net"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func networkCases() []testCase {
	return []testCase{
		{"own-address", ownAddress},
		{"hosts-file", hostsFile},
		{"service", service},
		{"service-named-port", serviceNamedPort},
		{"service-skips-unready", serviceSkipsUnready},
		{"service-without-ready-pods", serviceWithoutReadyPods},
	}
}

// ownAddress has two pods listen on the same port.
func ownAddress(f *fixture) {
	f.pod("p", "serve 8080", readiness(probing(httpGet("/", 8080), 1)))
	f.pod("q", "serve 8080", readiness(probing(httpGet("/", 8080), 1)))
	p, q := f.awaitPod("p", ready), f.awaitPod("q", ready)
	if p.Status.PodIP == q.Status.PodIP {
		f.Errorf("both pods have the address %s", p.Status.PodIP)
	}
	f.pod("r", "get http://"+net.JoinHostPort(p.Status.PodIP, "8080")+" -- get http://"+net.JoinHostPort(q.Status.PodIP,
		"8080"), never)
	f.awaitPod("r", phase(corev1.PodSucceeded))
	f.awaitLog("r", "c", "answer: p\nanswer: q\n")
}

func hostsFile(f *fixture) {
	f.pod("p", "cat /etc/hosts -- serve 8080", with(f.container("d", "get http://p:8080 -- sleep")),
		func(pod *corev1.Pod) {
			pod.Spec.HostAliases = []corev1.HostAlias{{IP: "127.0.0.9", Hostnames: []string{"other.test", "another.test"}}}
		})
	pod := f.awaitPod("p", placed, running("c"))
	f.awaitLog("p", "c", pod.Status.PodIP+"\tp\n", "127.0.0.9\tother.test\tanother.test\n", "127.0.0.1\tlocalhost")
	f.awaitLog("p", "d", "answer: p")
}

func (f *fixture) service(name string, selector string, port int32, target intstr.IntOrString) *corev1.Service {
	f.Helper()
	service, err := f.client.CoreV1().Services(f.namespace).Create(f.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": selector},
			Ports: []corev1.ServicePort{{Port: port, TargetPort: target}}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create service %s: %v", name, err)
	}
	return service
}

func url(service *corev1.Service) string {
	return "http://" + net.JoinHostPort(service.Spec.ClusterIP, service.Spec.Ports[0].TargetPort.String()) + "/"
}

func service(f *fixture) {
	f.pod("server", "serve 8080")
	made := f.service("web", "server", 8080, intstr.FromInt32(8080))
	f.pod("client", "get "+url(made), never)
	f.awaitPod("client", phase(corev1.PodSucceeded))
	f.awaitLog("client", "c", "answer: server")
}

func serviceNamedPort(f *fixture) {
	f.pod("server", "serve 8099", edit(func(c *corev1.Container) {
		c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8099}}
	}))
	made := f.service("web", "server", 8081, intstr.FromString("web"))
	f.pod("client", "get http://"+net.JoinHostPort(made.Spec.ClusterIP, "8081"), never)
	f.awaitPod("client", phase(corev1.PodSucceeded))
	f.awaitLog("client", "c", "answer: server")
}

// serviceSkipsUnready turns the one pod off and the other on.
func serviceSkipsUnready(f *fixture) {
	app := func(pod *corev1.Pod) { pod.Labels["app"] = "web" }
	probe := readiness(probing(httpGet("/file/tmp/ready", 8080), 1))
	f.pod("p", "write /tmp/ready -- serve 8080", app, probe)
	f.pod("q", "serve 8080", app, probe)
	f.awaitPod("p", ready)
	f.awaitPod("q", notReady)
	made := f.service("web", "web", 8080, intstr.FromInt32(8080))
	f.pod("client", "get "+url(made)+" p -- print first -- get "+url(made)+" q -- print second", never)
	f.awaitLog("client", "c", "first")
	f.do("p", "c", "rm /tmp/ready")
	f.do("q", "c", "write /tmp/ready")
	f.awaitPod("client", phase(corev1.PodSucceeded))
	f.awaitLog("client", "c", "answer: p\nfirst\nanswer: q\nsecond\n")
}

func serviceWithoutReadyPods(f *fixture) {
	f.pod("server", "serve 8080", readiness(probing(execute("exit", "1"), 1)))
	f.awaitPod("server", running("c"), notReady)
	made := f.service("web", "server", 8080, intstr.FromInt32(8080))
	f.pod("client", "refused "+url(made), never)
	f.awaitPod("client", phase(corev1.PodSucceeded))
}
