package run

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// logName is the log of the harness's client libraries, beside the evidence. The harness cuts off and kills their
// clusters on purpose. So these messages are noise for those who watch a run, and of use when a run is examined.
const logName = "harness.log"

// LogInto has the client libraries log into a folder, so verbosely. The log stays open until the program ends.
func LogInto(folder string, verbosity int) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder for the evidence: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(folder, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the log of the harness: %w", err)
	}
	// The log of an earlier run makes way. A run that goes on beside this one, with the same folder, keeps what it has
	// said.
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		if err := file.Truncate(0); err != nil {
			return fmt.Errorf("empty the log of the harness: %w", err)
		}
	}
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(file), textlogger.Verbosity(verbosity))))
	flags := flag.NewFlagSet(logName, flag.ContinueOnError) // client-go asks klog, not its logger, what to log
	klog.InitFlags(flags)
	return flags.Set("v", strconv.Itoa(verbosity))
}
