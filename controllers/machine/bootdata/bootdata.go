// Package bootdata makes what a machine boots with out of what an extension for operating systems has made.
//
// It creates no machine, and knows no form of user data: package userdata does.
package bootdata

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/textproto"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/api/userdata"
)

// Of a class and a machine is what the machine boots with. If it has no node file, the one is added that stands among
// the files of the OperatingSystemConfig. If there is none either, the machine could never join: that is an error of
// the cloud's kind Invalid.
func Of(ctx context.Context, control client.Reader, class *machinev1alpha1.MachineClass,
	m *machinev1alpha1.Machine) (string, error) {
	if class.SecretRef == nil {
		return "", nil
	}
	secret := &corev1.Secret{}
	if err := control.Get(ctx, client.ObjectKey{Namespace: class.SecretRef.Namespace, Name: class.SecretRef.Name},
		secret); err != nil {
		return "", fmt.Errorf("read the user data of MachineClass %q: %w", class.Name, err)
	}
	packed := secret.Data["userData"]
	_, missing := userdata.Find(packed)
	if missing == nil {
		return string(packed), nil
	}
	config, node, err := nodeFile(ctx, control, m)
	if err != nil {
		return "", err
	}
	if node == "" {
		return "", &cloud.Error{Code: cloud.CodeInvalid, Reason: "InvalidParameterValue", Message: fmt.Sprintf(
			"a machine of MachineClass %q could not join the shoot: %v; nor do spec.files of %s contain it", class.Name,
			missing, config)}
	}
	log.FromContext(ctx).Info("The user data contain no node file, it is added to them", "class", class.Name,
		"from", config, "reason", missing.Error())
	return withNodeFile(packed, node)
}

// provisionSuffix ends the name of the OperatingSystemConfig that new machines begin with.
const provisionSuffix = "-init"

// nodeFile is the node file among the files of the OperatingSystemConfig that a machine begins with; empty if none is
// there. The config is named as messages name it.
func nodeFile(ctx context.Context, control client.Reader, m *machinev1alpha1.Machine) (config, node string,
	err error) {
	agent := m.Spec.NodeTemplateSpec.Labels[constants.NodeAgentSecretName]
	if agent == "" {
		return "an OperatingSystemConfig, which the label " + constants.NodeAgentSecretName + " of the node template names",
			"", nil
	}
	osc := &extensionsv1alpha1.OperatingSystemConfig{}
	if err := control.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: agent + provisionSuffix},
		osc); err != nil {
		return "", "", fmt.Errorf("read the files that machine %q begins with: %w", m.Name, err)
	}
	config = fmt.Sprintf("OperatingSystemConfig %q of type %q", osc.Name, osc.Spec.Type)
	for _, file := range osc.Spec.Files {
		if file.Content.Inline == nil {
			continue
		}
		data, err := userdata.Find([]byte(file.Content.Inline.Data))
		if err != nil {
			continue // another file
		}
		node, err = data.Marshal()
		return config, node, err
	}
	return config, "", nil
}

// withNodeFile adds a node file to user data, as cloud-init takes several documents: as parts of one MIME message.
func withNodeFile(packed []byte, node string) (string, error) {
	var all bytes.Buffer
	writer := multipart.NewWriter(&all)
	// The same content at each attempt: the cloud takes an order of a machine once, and refuses the same with other data.
	if err := writer.SetBoundary(fmt.Sprintf("%x", sha256.Sum256(append([]byte(node), packed...)))); err != nil {
		return "", fmt.Errorf("add the node file to the user data: %w", err)
	}
	fmt.Fprintf(&all, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=%s\r\n\r\n", writer.Boundary())
	for _, part := range []struct {
		kind    string
		content []byte
	}{{"application/octet-stream", packed}, {"application/json", []byte(node)}} {
		into, err := writer.CreatePart(textproto.MIMEHeader{"Content-Type": {part.kind},
			"Content-Transfer-Encoding": {"base64"}})
		if err != nil {
			return "", fmt.Errorf("add the node file to the user data: %w", err)
		}
		if _, err := into.Write([]byte(base64.StdEncoding.EncodeToString(part.content))); err != nil {
			return "", fmt.Errorf("add the node file to the user data: %w", err)
		}
	}
	if err := writer.Close(); err != nil {
		return "", fmt.Errorf("add the node file to the user data: %w", err)
	}
	return all.String(), nil
}
