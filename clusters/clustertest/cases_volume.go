package clustertest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func volumeCases() []testCase {
	return []testCase{
		{"secret-volume", secretVolume},
		{"secret-volume-follows", secretVolumeFollows},
		{"secret-volume-lacks-secret", secretVolumeLacksSecret},
		{"optional-volumes", optionalVolumes},
		{"config-map-volume", configMapVolume},
		{"projected-volume-follows", projectedVolumeFollows},
		{"downward-volume-follows", downwardVolumeFollows},
		{"host-path", hostPath},
		{"host-path-of-wrong-type", hostPathOfWrongType},
		{"claim", claim},
		{"claim-comes-late", claimComesLate},
		{"sub-paths", subPaths},
		{"read-only-mount", readOnlyMount},
		{"nested-mounts", nestedMounts},
	}
}

func mismatch(got, want string) error { return fmt.Errorf("got %q, want %q", got, want) }

func secretVolume(f *fixture) {
	f.secret("s", map[string]string{"a": "secret a", "b": "secret b"})
	f.pod("p", "ls /all /picked -- cat /all/b /picked/deep/a -- stat /all/a /picked/deep/a", never,
		volume("all", "/all",
			corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: ptr.To(int32(0o440))}}),
		volume("picked", "/picked",
			corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", Items: []corev1.KeyToPath{
				{Key: "a", Path: "deep/a", Mode: ptr.To(int32(0o400))},
			}}}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "a\nb\ndeep\nsecret b\nsecret a\n", "/all/a -r--r-----", "/picked/deep/a -r--------")
}

func secretVolumeFollows(f *fixture) {
	f.secret("s", map[string]string{"a": "old", "gone": "x"})
	f.pod("p", "cat /s/a -- await-file /s/a new -- ls /s -- sleep", volume("s", "/s", corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "s"},
	}))
	f.awaitLog("p", "c", "old")
	_, err := f.client.CoreV1().Secrets(f.namespace).Patch(f.Context(), "s", types.MergePatchType,
		[]byte(`{"data":{"gone":null},"stringData":{"a":"new","b":"more"}}`), metav1.PatchOptions{})
	if err != nil {
		f.Fatalf("change the secret: %v", err)
	}
	f.awaitLog("p", "c", `/s/a is "new"`+"\na\nb\n")
	f.awaitPod("p", restarted("c", 0))
}

func secretVolumeLacksSecret(f *fixture) {
	f.pod("p", "cat /s/a -- sleep",
		volume("s", "/s", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "late"}}))
	f.awaitEvent("p", "FailedMount", `secret "late" not found`)
	f.awaitPod("p", phase(corev1.PodPending), waiting("c", "ContainerCreating", ""), notReady)
	f.secret("late", map[string]string{"a": "at last"})
	f.awaitPod("p", ready, restarted("c", 0))
	f.awaitLog("p", "c", "at last")
}

func optionalVolumes(f *fixture) {
	f.configMap("m", map[string]string{"a": "x"})
	f.pod("p", "ls /s /m -- print end", never,
		volume("s", "/s", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none",
			Optional: ptr.To(true)}}),
		volume("m", "/m", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Optional: ptr.To(true),
			Items: []corev1.KeyToPath{{Key: "none", Path: "none"}, {Key: "a", Path: "there"}},
		}}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "there\nend\n")
}

func configMapVolume(f *fixture) {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"text": "hello"},
		BinaryData: map[string][]byte{"binary": []byte("bytes")}}
	if _, err := f.client.CoreV1().ConfigMaps(f.namespace).Create(f.Context(), configMap,
		metav1.CreateOptions{}); err != nil {
		f.Fatalf("create the config map: %v", err)
	}
	f.pod("p", "ls /etc/app -- cat /etc/app/text /etc/app/binary", never, volume("m", "/etc/app", corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}},
	}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "binary\ntext\nhello\nbytes\n")
}

func projectedVolumeFollows(f *fixture) {
	f.secret("s", map[string]string{"a": "from secret"})
	f.configMap("m", map[string]string{"b": "old"})
	f.pod("p", "cat /v/a /v/name -- await-file /v/b new -- sleep",
		volume("v", "/v", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
				}}},
			},
		}}))
	f.awaitLog("p", "c", "from secret\np\n")
	_, err := f.client.CoreV1().ConfigMaps(f.namespace).Patch(f.Context(), "m", types.MergePatchType,
		[]byte(`{"data":{"b":"new"}}`), metav1.PatchOptions{})
	if err != nil {
		f.Fatalf("change the config map: %v", err)
	}
	f.awaitLog("p", "c", `/v/b is "new"`)
}

func downwardVolumeFollows(f *fixture) {
	f.pod("p", "cat /v/labels /v/cpu -- await-file /v/note changed -- sleep",
		volume("v", "/v", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
			Items: []corev1.DownwardAPIVolumeFile{
				{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
				{Path: "note", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['note']"}},
				{Path: "cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "c", Resource: "requests.cpu",
					Divisor: resource.MustParse("1m")}},
			},
		}}), edit(func(c *corev1.Container) { c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("7m")} }))
	f.awaitLog("p", "c", "app=\"p\"\n7\n")
	_, err := f.client.CoreV1().Pods(f.namespace).Patch(f.Context(), "p", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"note":"changed"}}}`), metav1.PatchOptions{})
	if err != nil {
		f.Fatalf("annotate the pod: %v", err)
	}
	f.awaitLog("p", "c", `/v/note is "changed"`)
}

// hostPath has one pod see what another has left on the node.
func hostPath(f *fixture) {
	source := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: "/tmp/clustertest-" + f.namespace, Type: ptr.To(corev1.HostPathDirectoryOrCreate),
	}}
	f.pod("p", "write /host/file left -- print ok", never, volume("host", "/host", source))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.pod("q", "cat /host/file -- rm /host/file", never, volume("host", "/host", source))
	f.awaitPod("q", phase(corev1.PodSucceeded))
	f.awaitLog("q", "c", "left")
	f.pod("r", "rm /tmp/clustertest-"+f.namespace, never,
		volume("tmp", "/tmp", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}}))
	f.awaitPod("r", phase(corev1.PodSucceeded))
}

func hostPathOfWrongType(f *fixture) {
	f.pod("p", "sleep", volume("host", "/host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: "/etc/passwd", Type: ptr.To(corev1.HostPathDirectory),
	}}))
	f.awaitEvent("p", "FailedMount", "hostPath type check failed")
	f.awaitPod("p", phase(corev1.PodPending), waiting("c", "ContainerCreating", ""))
}

func (f *fixture) claim(name string) {
	f.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Mi")}},
		}}
	if _, err := f.client.CoreV1().PersistentVolumeClaims(f.namespace).Create(f.Context(), claim,
		metav1.CreateOptions{}); err != nil {
		f.Fatalf("create claim %s: %v", name, err)
	}
}

func claimed(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// claim has its content survive the pods, and go with the claim.
func claim(f *fixture) {
	f.claim("data")
	f.pod("p", "count /data/n", never, volume("data", "/data", claimed("data")))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.pod("q", "count /data/n", never, volume("data", "/data", claimed("data")))
	f.awaitPod("q", phase(corev1.PodSucceeded))
	f.awaitLog("q", "c", "count 2")
	bound, err := f.client.CoreV1().PersistentVolumeClaims(f.namespace).Get(f.Context(), "data", metav1.GetOptions{})
	if err != nil || bound.Status.Phase != corev1.ClaimBound {
		f.Fatalf("the claim is %v, %v", bound.Status, err)
	}
	f.delete("p")
	f.delete("q")
	if err := f.client.CoreV1().PersistentVolumeClaims(f.namespace).Delete(f.Context(), "data",
		metav1.DeleteOptions{}); err != nil {
		f.Fatalf("delete the claim: %v", err)
	}
	f.await("the volume to be reclaimed", func(ctx context.Context) error {
		volume, err := f.client.CoreV1().PersistentVolumes().Get(ctx, bound.Spec.VolumeName, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("the volume is %s", volume.Status.Phase)
		}
		return ignoreNotFound(err)
	})
}

func claimComesLate(f *fixture) {
	f.pod("p", "print up -- sleep", volume("data", "/data", claimed("late")))
	f.awaitPod("p", condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable"))
	f.claim("late")
	f.awaitPod("p", ready)
}

func subPaths(f *fixture) {
	f.secret("s", map[string]string{"a": "one file"})
	f.pod("p", "write /data/x mine -- ls /all -- cat /all/p/x /etc/one", never, shared(),
		volume("s", "/s", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}),
		env(fieldRef("NAME", "metadata.name")),
		edit(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{
				{Name: "shared", MountPath: "/data", SubPathExpr: "$(NAME)"},
				{Name: "shared", MountPath: "/all"},
				{Name: "s", MountPath: "/etc/one", SubPath: "a"},
			}
		}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "p\nmine\none file\n")
}

func readOnlyMount(f *fixture) {
	f.pod("p", "exists /shared -- write /shared/x y", never, shared(), edit(func(c *corev1.Container) {
		c.VolumeMounts[0].ReadOnly = true
	}))
	f.awaitPod("p", phase(corev1.PodFailed), terminated("c", "Error", 1))
	f.awaitLog("p", "c", "read-only file system")
}

func nestedMounts(f *fixture) {
	f.configMap("m", map[string]string{"a": "inner"})
	f.pod("p", "write /outer/file outer -- cat /outer/file /outer/inner/a", never,
		volume("inner", "/outer/inner",
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
				Name: "m"}}}),
		volume("outer", "/outer", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	f.awaitPod("p", phase(corev1.PodSucceeded))
	f.awaitLog("p", "c", "outer\ninner\n")
}
