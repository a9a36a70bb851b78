package apiservertest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// The rows are those of docs/specification/state-size.md.
func TestCreate_ObjectAboveALimit_IsRefused(t *testing.T) {
	clients, err := kubernetes.NewForConfig(apiservertest.Start(t, apiservertest.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	template := func(size int) error {
		container := corev1.Container{Name: "c", Image: "i", Args: []string{strings.Repeat("x", size)}}
		pods := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}
		object := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "template"}, Template: pods}
		_, err := clients.CoreV1().PodTemplates("default").Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	secret := func(size int) error {
		object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"},
			Data: map[string][]byte{"key": make([]byte, size)}}
		_, err := clients.CoreV1().Secrets("default").Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	for name, c := range map[string]struct {
		create func(size int) error
		size   int
		code   int32
		says   string
	}{
		"etcd's limit": {template, 3<<19 + 1000, http.StatusInternalServerError,
			"etcdserver: request is too large"},
		"the limit of etcd client": {template, 2<<20 + 1000, http.StatusInternalServerError,
			"rpc error: code = ResourceExhausted desc = trying to send message larger than max"},
		"the body's limit": {template, 3<<20 + 1000, http.StatusRequestEntityTooLarge,
			"Request entity too large: limit is 3145728"},
		"the data's limit": {secret, 1<<20 + 1, http.StatusUnprocessableEntity,
			"Too long: may not be more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.create(c.size)
			var status *apierrors.StatusError
			if !errors.As(err, &status) || status.ErrStatus.Code != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %d %q", err, c.code, c.says)
			}
		})
	}
}
