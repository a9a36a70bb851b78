package forward

import (
	"log"
	"strings"

	"github.com/go-logr/logr"
)

// ErrorLog carries what net/http has to say, most of it about clients that break off.
func ErrorLog(l logr.Logger) *log.Logger { return log.New(logLines{l}, "", 0) }

type logLines struct{ log logr.Logger }

func (l logLines) Write(line []byte) (int, error) {
	l.log.V(1).Info("HTTP server", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
