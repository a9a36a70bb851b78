package clustertest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func securityCases() []testCase {
	return []testCase{
		{"runs-as-user", runsAsUser},
		{"root-where-forbidden", rootWhereForbidden},
		{"read-only-root", readOnlyRoot},
		{"token", token},
		{"token-for-audience", tokenForAudience},
		{"no-token", noToken},
		{"own-processes", ownProcesses},
	}
}

// runsAsUser reads a token, a Secret and an empty folder as a user that is not root.
func runsAsUser(f *fixture) {
	f.secret("s", map[string]string{"a": "readable"})
	f.pod("p", "id -- cat /s/a -- write /shared/x y -- whoami -- sleep", shared(),
		volume("s", "/s", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}), func(pod *corev1.Pod) {
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{
				RunAsUser: ptr.To(int64(1000)), RunAsGroup: ptr.To(int64(2000)), RunAsNonRoot: ptr.To(true),
				FSGroup: ptr.To(int64(3000)),
			}
		})
	f.awaitLog("p", "c", "uid=1000 gid=2000", "readable", "status 201")
	f.awaitPod("p", ready)
}

func rootWhereForbidden(f *fixture) {
	f.pod("p", "sleep", edit(func(c *corev1.Container) {
		c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(0))}
	}))
	f.awaitPod("p", phase(corev1.PodPending), waiting("c", "CreateContainerConfigError",
		"container's runAsUser breaks non-root policy"))
}

func readOnlyRoot(f *fixture) {
	f.pod("p", "write /shared/x y -- write /file y", never, shared(), edit(func(c *corev1.Container) {
		c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true)}
	}))
	f.awaitPod("p", phase(corev1.PodFailed))
	f.awaitLog("p", "c", "/file: read-only file system")
}

func token(f *fixture) {
	f.pod("p", "whoami", never)
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "status 201 user system:serviceaccount:"+f.namespace+":default")
}

// tokenForAudience shows a token that is not for the API server.
func tokenForAudience(f *fixture) {
	f.pod("p", "whoami /v/mine -- print and -- whoami", never,
		volume("v", "/v", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Path: "mine", Audience: "somebody.else", ExpirationSeconds: ptr.To(int64(600)),
			}}},
		}}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "status 401\nand\nstatus 201")
}

func noToken(f *fixture) {
	f.pod("p", "exists /var/run/secrets/kubernetes.io", never, func(pod *corev1.Pod) {
		pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	})
	f.awaitPod("p", phase(corev1.PodFailed))
	f.awaitLog("p", "c", "no such file")
}

func ownProcesses(f *fixture) {
	f.pod("p", "pid -- exists /proc/1 -- exists /proc/100", never, with(f.container("d", "sleep")))
	f.awaitLog("p", "c", "pid=1\n", "/proc/100: no such file")
}
