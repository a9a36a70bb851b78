package processnode

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
)

const (
	maxMessage     = 4096 // bytes of a termination message
	maxLogMessage  = 2048 // bytes of a log that stands in for one
	logMessageTail = 80   // lines of it
)

// terminationMessage is what a container has left behind for its status.
func (w *worker) terminationMessage(i *instance, exitCode int) string {
	content, err := os.ReadFile(filepath.Join(w.containerFolder(i.spec.Name), "termination-log"))
	if err != nil {
		w.log.Error(err, "Could not read a termination message", "pod", w.pod.Name, "container", i.spec.Name)
	}
	if len(content) > 0 || exitCode == 0 ||
		i.spec.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return string(content[:min(len(content), maxMessage)])
	}
	var tail bytes.Buffer
	lines := int64(logMessageTail)
	if err := i.log.Read(context.Background(), &tail, containerlog.Options{Tail: &lines}); err != nil {
		w.log.Error(err, "Could not read the end of a log", "pod", w.pod.Name, "container", i.spec.Name)
	}
	return string(tail.Bytes()[max(0, tail.Len()-maxLogMessage):])
}
