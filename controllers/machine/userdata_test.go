package machine

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/userdata"
)

// boots changes what the machines of class-1 boot with.
func (b *bench) boots(packed string) {
	b.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "class-1"}}
	b.must(b.control.Get(b.t.Context(), client.ObjectKeyFromObject(secret), secret))
	secret.Data["userData"] = []byte(packed)
	b.must(b.control.Update(b.t.Context(), secret))
}

// config is the OperatingSystemConfig that new machines of the pool begin with.
func (b *bench) config(files ...extensionsv1alpha1.File) {
	b.t.Helper()
	b.must(b.control.Create(b.t.Context(), &extensionsv1alpha1.OperatingSystemConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gardener-node-agent-pool-1a2b-init"},
		Spec: extensionsv1alpha1.OperatingSystemConfigSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "harbour"}, Files: files,
		},
	}))
	d := b.deployment(1)
	b.change(d, func() {
		d.Spec.Template.Spec.NodeTemplateSpec.Labels = map[string]string{
			constants.NodeAgentSecretName: "gardener-node-agent-pool-1a2b",
		}
	})
}

func inline(path, encoding, data string) extensionsv1alpha1.File {
	return extensionsv1alpha1.File{Path: path, Content: extensionsv1alpha1.FileContent{
		Inline: &extensionsv1alpha1.FileContentInline{Encoding: encoding, Data: data}}}
}

func TestUserData_OfAScriptWithNodeFile_StaysAsItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	script := "#!/bin/sh\nbase64 -d <<EOF\n" + base64.StdEncoding.EncodeToString([]byte(nodeFile)) + "\nEOF\n"
	b.boots(script)
	b.deployment(1)
	b.settle()
	b.expect("created", 1, 1, 1, 0)
	if got := b.cloud.vms[0].UserData; got != script {
		t.Errorf("the machine boots with %q", got)
	}
}

func TestUserData_WithoutNodeFile_GetsThatOfTheConfig(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const script = "#!/bin/sh\nexit 0 # binary \x00\xff\n"
	b.boots(script)
	b.config(inline("/etc/motd", "", "hello"),
		inline("/etc/transplant/node.json", "b64", base64.StdEncoding.EncodeToString([]byte(nodeFile))))
	b.settle()
	b.expect("created", 1, 1, 1, 0)
	got := b.cloud.vms[0].UserData
	node, err := userdata.Find([]byte(got))
	if err != nil || node.Shoot != "shoot--p--alpha" {
		t.Errorf("the machine joins as %+v, %v", node, err)
	}
	if !strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(script))) {
		t.Errorf("the machine boots with %q, want the script of the extension in it", got)
	}
}

func TestUserData_NoNodeFileAnywhere_NoMachineAndAReason(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(*bench)
		want []string
	}{
		"nor among the files": {func(b *bench) { b.config(inline("/etc/motd", "", "hello")) },
			[]string{`spec.files of OperatingSystemConfig "gardener-node-agent-pool-1a2b-init" of type "harbour"`}},
		"nor is a config known": {func(b *bench) { b.deployment(1) }, []string{constants.NodeAgentSecretName}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.boots("#!/bin/sh\nexit 0\n")
			test.set(b)
			b.step()
			b.step()
			b.step()
			if len(b.cloud.vms) > 0 {
				t.Errorf("%d machines were created that cannot join", len(b.cloud.vms))
			}
			machines := b.all()
			if len(machines) != 1 {
				t.Fatalf("%d Machines, want 1", len(machines))
			}
			last := machines[0].Status.LastOperation
			if last.State != "Failed" || last.ErrorCode != "Invalid" {
				t.Errorf("last operation %+v, want Failed and Invalid", last)
			}
			for _, want := range append(test.want, "InvalidParameter", `MachineClass "class-1"`,
				"the user data (17 bytes) contain no node file") {
				if !strings.Contains(last.Description, want) {
					t.Errorf("says %q, want %q in it", last.Description, want)
				}
			}
		})
	}
}
