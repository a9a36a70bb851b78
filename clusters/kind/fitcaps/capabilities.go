package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// names of capabilities by their bit, as in linux/capability.h.
var names = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID",
	"CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN",
	"CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE", "CAP_SYS_PACCT", "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE",
	"CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL",
	"CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND",
	"CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
}

// bounding reads the names of the bounding set out of /proc/self/status.
func bounding(status string) ([]string, error) {
	for line := range strings.Lines(status) {
		text, found := strings.CutPrefix(line, "CapBnd:")
		if !found {
			continue
		}
		bits, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("parse the bounding set %q: %w", text, err)
		}
		var set []string
		for bit, name := range names {
			if bits&(1<<bit) != 0 {
				set = append(set, name)
			}
		}
		return set, nil
	}
	return nil, fmt.Errorf("find the bounding set in %d bytes of process status", len(status))
}

// fit rewrites a configuration (with a field "process") or a process, when it asks for more than there is.
func fit(file string, has []string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	fitted, changed, err := without(content, has)
	if err != nil {
		return fmt.Errorf("fit the configuration %q: %w", file, err)
	}
	if !changed {
		return nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read the configuration's mode: %w", err)
	}
	if err := os.WriteFile(file, fitted, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// without returns the document less the capabilities that has does not have. Numbers keep their digits.
func without(content []byte, has []string) (fitted []byte, changed bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return nil, false, fmt.Errorf("parse JSON: %w", err)
	}
	process := document
	if inner, found := document["process"].(map[string]any); found {
		process = inner
	}
	sets, _ := process["capabilities"].(map[string]any)
	for name, value := range sets {
		asked, _ := value.([]any)
		kept := slices.DeleteFunc(slices.Clone(asked), func(one any) bool {
			text, _ := one.(string)
			return !slices.Contains(has, text)
		})
		if len(kept) < len(asked) {
			sets[name], changed = kept, true
		}
	}
	if !changed {
		return content, false, nil
	}
	fitted, err = json.Marshal(document)
	return fitted, true, err
}
