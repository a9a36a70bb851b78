package run

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// logName is the file, beside the evidence, of what the client libraries of the harness have to say. Their clusters are
// cut off and killed by design, so it is noise to who watches the story, and of use to who looks into a run.
const logName = "harness.log"

// logInto has the client libraries log into a folder. The log stays open until the program ends.
func logInto(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder for the evidence: %w", err)
	}
	file, err := os.Create(filepath.Join(folder, logName))
	if err != nil {
		return fmt.Errorf("keep the log of the harness: %w", err)
	}
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(file))))
	return nil
}
