package apiservertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// A client gives up a watch event of more than 16 MiB. etcd's 1.5 MiB come first: what grows most on its way is a
// control character, one byte in the store and six in a JSON event, and even an object that is nothing else and as
// large as may be comes to some 9 MiB. So no object of legal size is lost to the limit of the frame.
func TestTheLargestLegalObjectFitsIntoAWatchFrame(t *testing.T) {
	const (
		stored = 1_560_000 // just below 1.5 MiB, with what else is in the object
		frame  = 16 << 20
	)
	config := apiservertest.Start(t, apiservertest.Options{})
	// As JSON the request itself would be larger than the 3 MiB that the API server takes.
	writer := rest.CopyConfig(config)
	writer.ContentType = runtime.ContentTypeProtobuf
	inProtobuf, err := kubernetes.NewForConfig(writer)
	if err != nil {
		t.Fatal(err)
	}
	reader := rest.CopyConfig(config)
	reader.ContentType, reader.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	inJSON, err := kubernetes.NewForConfig(reader)
	if err != nil {
		t.Fatal(err)
	}
	templates := inProtobuf.CoreV1().PodTemplates("default")
	list, err := templates.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := inJSON.CoreV1().PodTemplates("default").Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	template := func(name string, size int) *corev1.PodTemplate {
		container := corev1.Container{Name: "c", Image: "i", Args: []string{strings.Repeat("\x01", size)}}
		return &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}}
	}
	if _, err := templates.Create(t.Context(), template("too-large", 3<<19+1000), metav1.CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "etcdserver: request is too large") {
		t.Errorf("more than 1.5 MiB: %v", err)
	}
	if _, err := templates.Create(t.Context(), template("largest", stored), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	event := <-events.ResultChan()
	got, whole := event.Object.(*corev1.PodTemplate)
	if event.Type != watch.Added || !whole || len(got.Template.Spec.Containers[0].Args[0]) != stored {
		t.Fatalf("the watch gives %s of %T", event.Type, event.Object)
	}
	content, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) < 5*stored || len(content) > frame*2/3 {
		t.Errorf("the object has %d bytes as JSON, want some six times %d, well below %d", len(content), stored, frame)
	}
	t.Logf("%d bytes in the store are an event of %d bytes; the limit is %d", stored, len(content), frame)
}
