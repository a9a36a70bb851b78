package clustertest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func environmentCases() []testCase {
	return []testCase{
		{"expansion", expansion},
		{"environment-from-fields", environmentFromFields},
		{"environment-from-resources", environmentFromResources},
		{"environment-from-objects", environmentFromObjects},
		{"environment-lacks-secret", environmentLacksSecret},
		{"environment-lacks-key", environmentLacksKey},
		{"service-variables", serviceVariables},
		{"working-directory-and-host-name", workingDirectoryAndHostName},
	}
}

func fieldRef(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func resourceRef(name, resourceName string, divisor string) corev1.EnvVar {
	selector := &corev1.ResourceFieldSelector{Resource: resourceName}
	if divisor != "" {
		selector.Divisor = resource.MustParse(divisor)
	}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: selector}}
}

func expansion(f *fixture) {
	f.pod("p", "args $(A) $(B) $$(A) $(NONE) $ $( end", never, env(
		corev1.EnvVar{Name: "A", Value: "a"},
		corev1.EnvVar{Name: "B", Value: "$(A)-$$(A)-$(LATER)"},
		corev1.EnvVar{Name: "LATER", Value: "later"},
	))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", `["a" "a-$(A)-$(LATER)" "$(A)" "$(NONE)" "$" "$(" "end"]`)
}

func environmentFromFields(f *fixture) {
	f.pod("p", "env NAME NAMESPACE APP NOTE ACCOUNT -- sleep", env(
		fieldRef("NAME", "metadata.name"), fieldRef("NAMESPACE", "metadata.namespace"),
		fieldRef("APP", "metadata.labels['app']"),
		fieldRef("NOTE", "metadata.annotations['transplant.dev/note']"), fieldRef("ACCOUNT", "spec.serviceAccountName"),
		fieldRef("NODE", "spec.nodeName"), fieldRef("HOST", "status.hostIP"), fieldRef("POD_UID", "metadata.uid"),
	), func(pod *corev1.Pod) { pod.Annotations = map[string]string{"transplant.dev/note": "a note"} })
	f.awaitLog("p", "c", "NAME=p\nNAMESPACE="+f.namespace+"\nAPP=p\nNOTE=a note\nACCOUNT=default\n")
	pod := f.awaitPod("p", ready)
	output, _ := f.exec("p", "c", "", "testpod", "env", "POD_IP", "NODE", "HOST", "POD_UID")
	want := "POD_IP=" + pod.Status.PodIP + "\nNODE=" + pod.Spec.NodeName + "\nHOST=" + pod.Status.HostIP + "\nPOD_UID=" +
		string(pod.UID) + "\n"
	if output != want {
		f.Errorf("got %q, want %q", output, want)
	}
}

func environmentFromResources(f *fixture) {
	f.pod("p", "env CPU MILLI MEMORY REQUEST", never, env(
		resourceRef("CPU", "limits.cpu", ""), resourceRef("MILLI", "limits.cpu", "1m"),
		resourceRef("MEMORY", "limits.memory", "1Mi"), resourceRef("REQUEST", "requests.memory", "1Ki"),
	), edit(func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("128Mi")}
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("16Mi")}
	}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "CPU=2\nMILLI=1500\nMEMORY=128\nREQUEST=16384\n")
}

func secretRef(name, secret, key string, optional bool) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key, Optional: ptr.To(optional),
	}}}
}

func environmentFromObjects(f *fixture) {
	f.secret("s", map[string]string{"A": "secret-a", "B": "secret-b"})
	f.configMap("m", map[string]string{"B": "map-b", "D": "map-d"})
	f.pod("p", "env A B D X_A PICKED MAPPED MAYBE", never, env(
		secretRef("PICKED", "s", "A", false), secretRef("MAYBE", "none", "A", true),
		corev1.EnvVar{Name: "MAPPED", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "D",
		}}},
		corev1.EnvVar{Name: "D", Value: "own-$(B)"},
	), edit(func(c *corev1.Container) {
		secret := func(prefix string) corev1.EnvFromSource {
			return corev1.EnvFromSource{Prefix: prefix,
				SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}
		}
		configMap := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}
		c.EnvFrom = []corev1.EnvFromSource{secret(""), secret("X_"), configMap}
	}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "A=secret-a\nB=map-b\nD=own-map-b\nX_A=secret-a\nPICKED=secret-a\nMAPPED=map-d\nMAYBE=(unset)\n")
}

func environmentLacksSecret(f *fixture) {
	f.pod("p", "env A -- sleep", env(secretRef("A", "late", "A", false)))
	f.awaitPod("p", phase(corev1.PodPending), waiting("c", "CreateContainerConfigError", `secret "late" not found`),
		restarted("c", 0))
	f.awaitEvent("p", "Failed", `secret "late" not found`)
	f.secret("late", map[string]string{"A": "at last"})
	f.awaitPod("p", ready, restarted("c", 0))
	f.awaitLog("p", "c", "A=at last")
}

func environmentLacksKey(f *fixture) {
	f.secret("s", map[string]string{"A": "a"})
	f.pod("p", "sleep", env(secretRef("B", "s", "B", false)))
	f.awaitPod("p", phase(corev1.PodPending), waiting("c", "CreateContainerConfigError", "couldn't find key B in Secret"))
}

func serviceVariables(f *fixture) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "my-service"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "none"},
			Ports: []corev1.ServicePort{{Name: "web", Port: 8080}}},
	}
	made, err := f.client.CoreV1().Services(f.namespace).Create(f.Context(), service, metav1.CreateOptions{})
	if err != nil {
		f.Fatalf("create the service: %v", err)
	}
	names := "MY_SERVICE_SERVICE_HOST MY_SERVICE_SERVICE_PORT MY_SERVICE_SERVICE_PORT_WEB MY_SERVICE_PORT"
	want := "MY_SERVICE_SERVICE_HOST=" + made.Spec.ClusterIP +
		"\nMY_SERVICE_SERVICE_PORT=8080\nMY_SERVICE_SERVICE_PORT_WEB=8080\n" +
		"MY_SERVICE_PORT=tcp://" + made.Spec.ClusterIP + ":8080\n"
	// A node learns of a service a little later than the API server.
	f.await("the variables of the service", func(context.Context) error {
		pod := f.pod("", "env "+names, never, func(p *corev1.Pod) { p.GenerateName = "p-" })
		f.awaitPod(pod.Name, phase(corev1.PodSucceeded))
		if got := f.logs(pod.Name, corev1.PodLogOptions{}); got != want {
			return mismatch(got, want)
		}
		return nil
	})
	f.pod("q", "env "+names, never, func(p *corev1.Pod) { p.Spec.EnableServiceLinks = ptr.To(false) })
	f.awaitPod("q", phase(corev1.PodSucceeded))
	f.awaitLog("q", "c", "MY_SERVICE_SERVICE_HOST=(unset)")
}

func workingDirectoryAndHostName(f *fixture) {
	f.pod("p", "write here yes -- cat /shared/here -- hostname -- env HOSTNAME", never, shared(),
		edit(func(c *corev1.Container) {
			c.WorkingDir = "/shared"
		}))
	f.pod("q", "hostname", never, func(p *corev1.Pod) { p.Spec.Hostname = "other" })
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "yes\np\nHOSTNAME=p\n")
	f.awaitPod("q", phase(corev1.PodSucceeded))
	f.awaitLog("q", "c", "other\n")
}
