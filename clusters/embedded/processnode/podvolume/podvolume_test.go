package podvolume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
)

// api is a namespace with one Secret "s" at most, and an issuer of tokens.
type api struct {
	secret map[string][]byte
	clock  *testingclock.FakeClock
	tokens int
	down   error
	volume *corev1.PersistentVolume
}

func (a *api) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if a.secret == nil || name != "s" {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	return &corev1.Secret{Data: a.secret}, nil
}

func (a *api) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

func (a *api) Claim(_ context.Context, _, name string) (*corev1.PersistentVolumeClaim, error) {
	switch name {
	case "pending":
		return &corev1.PersistentVolumeClaim{}, nil
	case "disk":
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "of-cloud"},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumeclaims"}, name)
}

func (a *api) Volume(_ context.Context, name string) (*corev1.PersistentVolume, error) {
	if a.volume != nil {
		return a.volume, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumes"}, name)
}

func (a *api) Token(_ context.Context, _, _ string,
	request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	if a.down != nil {
		return nil, a.down
	}
	a.tokens++
	request.Status.Token = strings.Repeat("t", a.tokens)
	request.Status.ExpirationTimestamp = metav1.NewTime(
		a.clock.Now().Add(time.Duration(*request.Spec.ExpirationSeconds) * time.Second))
	return request, nil
}

func secretVolume(name string) corev1.Volume {
	return corev1.Volume{Name: "v",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
}

func podWith(volume corev1.Volume) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"},
		Spec:       corev1.PodSpec{ServiceAccountName: "default", Volumes: []corev1.Volume{volume}},
	}
}

func newTestSet(t *testing.T, a *api) *Set {
	t.Helper()
	a.clock = testingclock.NewFakeClock(time.Now())
	return NewSet(t.TempDir(), a, nil, a.clock)
}

// contents reads the files that a volume shows, through its links.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "..") {
			content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out[entry.Name()] = string(content)
		}
	}
	return out
}

func TestASecretsVolumeFollowsIt(t *testing.T) {
	t.Parallel()
	a := &api{secret: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}
	s, pod := newTestSet(t, a), podWith(secretVolume("s"))
	update := func() {
		t.Helper()
		if _, err := s.Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	update()
	before, _ := os.Readlink(filepath.Join(s.paths["v"], dataLink))
	update()
	if now, _ := os.Readlink(filepath.Join(s.paths["v"], dataLink)); now != before || before == "" {
		t.Errorf("nothing has changed, but the version was %q and is %q", before, now)
	}
	a.secret = map[string][]byte{"b": []byte("3"), "c": []byte("4")}
	update()
	if diff := cmp.Diff(map[string]string{"b": "3", "c": "4"}, contents(t, s.paths["v"])); diff != "" {
		t.Error(diff)
	}
	versions, err := filepath.Glob(filepath.Join(s.paths["v"], "..version-*"))
	if err != nil || len(versions) != 1 {
		t.Errorf("the versions kept are %v, %v", versions, err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	a := &api{secret: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}
	s, volume := newTestSet(t, a), secretVolume("s")
	everybody, own := int32(0o444), int32(0o400)
	volume.Secret.DefaultMode = &everybody
	volume.Secret.Items = []corev1.KeyToPath{{Key: "a", Path: "x/a"}, {Key: "b", Path: "b", Mode: &own}}
	if _, err := s.Update(t.Context(), podWith(volume)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"x/a": 0o444, "b": 0o400} {
		if info, err := os.Stat(filepath.Join(s.paths["v"], name)); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	yes := true
	keyed := secretVolume("s")
	keyed.Secret.Items = []corev1.KeyToPath{{Key: "none", Path: "none"}}
	optional := secretVolume("none")
	optional.Secret.Optional = &yes
	claimed := func(name string) corev1.Volume {
		return corev1.Volume{Name: "v",
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
	}
	for _, test := range []struct {
		volume corev1.Volume
		want   string
	}{
		{secretVolume("none"), `volume "v": secret "none" not found`},
		{keyed, `volume "v": secret "s" has no key "none"`},
		{optional, ""},
		{claimed("none"), `volume "v": persistentvolumeclaim "none" not found`},
		{claimed("pending"), `volume "v": persistentvolumeclaim "pending" is not bound`},
		{corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}},
			`volume "v": volume "v" is of a kind that this node does not have`},
		{corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/none"}}},
			`volume "v": hostPath type check failed: stat /none: no such file or directory`},
	} {
		_, err := newTestSet(t, &api{secret: map[string][]byte{}}).Update(t.Context(), podWith(test.volume))
		if got := errorText(err); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// A volume of the cloud is there as soon as it is attached to the machine. Nothing else of the host is.
func TestClaim_OfAVolumeOfTheCloud_IsThatOfTheMachine(t *testing.T) {
	t.Parallel()
	volumes, elsewhere, machine := t.TempDir(), t.TempDir(), t.TempDir()
	devices := filepath.Join(machine, Devices)
	if err := errors.Join(os.MkdirAll(devices, 0o755), os.Mkdir(filepath.Join(volumes, "vol-1"), 0o777),
		os.Mkdir(filepath.Join(volumes, "vol-2"), 0o777),
		os.Symlink(filepath.Join(volumes, "vol-1"), filepath.Join(devices, "vol-1")),
		os.Symlink(elsewhere, filepath.Join(devices, "vol-3"))); err != nil {
		t.Fatal(err)
	}
	const driver = "csi.cloud"
	of := func(driver, handle string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "of-cloud"}}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}
		return v
	}
	block, mode := of(driver, "vol-1"), corev1.PersistentVolumeBlock
	block.Spec.VolumeMode = &mode
	const prefix = `volume "v": persistentvolume "of-cloud"`
	for name, c := range map[string]struct {
		volume *corev1.PersistentVolume
		want   string
	}{
		"attached":       {of(driver, "vol-1"), ""},
		"not attached":   {of(driver, "vol-2"), prefix + `: volume "vol-2" is not attached to this machine`},
		"a planted link": {of(driver, "vol-3"), prefix + `: volume "vol-3" is not attached to this machine`},
		"a way out":      {of(driver, "../vol-2"), prefix + `: "../vol-2" is no id of a volume`},
		"upwards":        {of(driver, ".."), prefix + `: ".." is no id of a volume`},
		"another driver": {of("csi.acme.io", "vol-1"), prefix + ` is of a kind that this node does not have`},
		"a block device": {block, prefix + ` is of a kind that this node does not have`},
	} {
		s := newTestSet(t, &api{volume: c.volume})
		s.Machine, s.Cloud = machine, DriverOf(driver+"="+volumes)
		_, err := s.Update(t.Context(), podWith(corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}}}))
		if got := errorText(err); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if want := filepath.Join(volumes, "vol-1"); c.want == "" && s.paths["v"] != want {
			t.Errorf("%s: got %q, want %q", name, s.paths["v"], want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	a, seconds := &api{}, int64(1000)
	s := newTestSet(t, a)
	pod := podWith(corev1.Volume{Name: "v",
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
		}}}})
	shows := func(want string, renewIn time.Duration) {
		t.Helper()
		renew, err := s.Update(t.Context(), pod)
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, s.paths["v"])["token"]; got != want || renew.Sub(a.clock.Now()) != renewIn {
			t.Errorf("got token %q, to be renewed in %s, want %q and %s", got, renew.Sub(a.clock.Now()), want, renewIn)
		}
	}
	shows("t", 800*time.Second)
	a.clock.Step(799 * time.Second)
	shows("t", time.Second)
	a.clock.Step(time.Second)
	shows("tt", 800*time.Second)
	a.clock.Step(900 * time.Second)
	a.down = os.ErrDeadlineExceeded
	shows("tt", tokenRetry) // old, but it still opens doors
	a.clock.Step(100 * time.Second)
	if _, err := s.Update(t.Context(), pod); err == nil {
		t.Error("a token that has expired was kept")
	}
}

// A token is readable by more than its owner only where another user needs it.
func TestModes_OfTokens_AreForWhoRuns(t *testing.T) {
	t.Parallel()
	as := func(user int64) *corev1.SecurityContext { return &corev1.SecurityContext{RunAsUser: &user} }
	user := int64(1000)
	pod := func(security *corev1.PodSecurityContext, containers ...corev1.Container) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: security, Containers: containers}}
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want fs.FileMode
	}{
		"all are root": {pod(nil, corev1.Container{}), 0o600},
		"all are root by name": {pod(&corev1.PodSecurityContext{RunAsUser: &user},
			corev1.Container{SecurityContext: as(0)}), 0o600},
		"the pod is another user": {pod(&corev1.PodSecurityContext{RunAsUser: &user}, corev1.Container{}), 0o644},
		"one is another user":     {pod(nil, corev1.Container{}, corev1.Container{SecurityContext: as(user)}), 0o644},
		"the pod has a group": {pod(&corev1.PodSecurityContext{RunAsUser: &user, FSGroup: &user}, corev1.Container{}),
			0o600},
	} {
		if got := tokenMode(test.pod, 0o644); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestMounts(t *testing.T) {
	t.Parallel()
	s := newTestSet(t, &api{secret: map[string][]byte{"a": []byte("1")}})
	pod := podWith(secretVolume("s"))
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	if _, err := s.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	environment, err := podenv.Source{Pod: pod}.Of(t.Context(),
		&corev1.Container{Env: []corev1.EnvVar{{Name: "NAME", Value: "p"}}})
	if err != nil {
		t.Fatal(err)
	}
	mounts := func(m corev1.VolumeMount) ([]container.Mount, error) {
		return s.Mounts(pod, &corev1.Container{VolumeMounts: []corev1.VolumeMount{m}}, environment)
	}
	for _, test := range []struct {
		mount corev1.VolumeMount
		want  container.Mount
	}{
		{corev1.VolumeMount{Name: "v", MountPath: "/v"}, container.Mount{Source: s.folder + "/v", Target: "/v",
			ReadOnly: true}},
		{corev1.VolumeMount{Name: "e", MountPath: "/e"}, container.Mount{Source: s.folder + "/e", Target: "/e"}},
		{corev1.VolumeMount{Name: "e", MountPath: "/e", SubPathExpr: "pods/$(NAME)"},
			container.Mount{Source: s.folder + "/e/pods/p", Target: "/e"}},
	} {
		got, err := mounts(test.mount)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]container.Mount{test.want}, got); diff != "" {
			t.Error(diff)
		}
	}
	for subPath, want := range map[string]string{"../x": `volume mount "e": subPath "../x" leaves the volume`,
		"out/x": "path escapes from parent"} {
		if err := os.Symlink("/", filepath.Join(s.folder, "e", "out")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		if _, err := mounts(corev1.VolumeMount{Name: "e", MountPath: "/e", SubPath: subPath}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("subPath %q: got %v, want %q", subPath, err, want)
		}
	}
	if _, err := mounts(corev1.VolumeMount{Name: "none", MountPath: "/e"}); err == nil ||
		err.Error() != `volume "none" is not ready` {
		t.Errorf("an unknown volume: got %v", err)
	}
}
