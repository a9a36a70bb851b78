package kind

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"
)

// WriteLogs writes down what everything in the landscape's containers has said so far, in the places where package
// embedded has its logs; Stop does so before the containers go. Of a node that was wiped, or of a companion that was
// never started, there is none.
func (l *Landscape) WriteLogs(ctx context.Context) {
	var group errgroup.Group
	for _, c := range l.clusters {
		group.Go(func() error {
			l.noteLost(c.name, c.keepPodLogs(ctx))
			return nil
		})
	}
	if l.options.Companions != nil {
		for _, name := range Companions {
			group.Go(func() error {
				l.noteLost(name, l.companions.keepLog(ctx, name))
				return nil
			})
		}
	}
	_ = group.Wait() // every error has been noted
}

// noteLost logs which logs could not be kept: no reason to leave the containers where they are.
func (l *Landscape) noteLost(name string, err error) {
	if err != nil {
		l.options.Log.Info("Logs are not kept", "of", name, "reason", err.Error())
	}
}

// podLogFolder is where a kubelet keeps the logs of pods.
const podLogFolder = "/var/log/pods"

func (c *Cluster) keepPodLogs(ctx context.Context) error {
	command := exec.CommandContext(ctx, "docker", "cp", c.Node()+":"+podLogFolder, "-")
	archive, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("make the pipe for logs: %w", err)
	}
	var said strings.Builder
	command.Stderr = &said
	if err := command.Start(); err != nil {
		return fmt.Errorf("copy the logs of pods: %w", err)
	}
	err = unpackLogs(archive, c.landscape.dir.Join("clusters", c.name, "pods"))
	_, _ = io.Copy(io.Discard, archive) // or the command would wait for a reader
	if ended := command.Wait(); ended != nil {
		return fmt.Errorf("copy the logs of pods: %w: %s", ended, strings.TrimSpace(said.String()))
	}
	return err
}

// logFile is one in the archive, as kubelets name them: pods/NAMESPACE_NAME_UID/CONTAINER/RUN.log.
var logFile = regexp.MustCompile(`^pods/[^/]+_([0-9a-f-]+)/([a-z0-9-]+)/([0-9]+\.log[^/]*)$`)

// unpackLogs writes logs of pods as UID/containers/CONTAINER/RUN.log, as process nodes do, and nothing else.
func unpackLogs(archive io.Reader, folder string) error {
	files := tar.NewReader(archive)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive of logs: %w", err)
		}
		parts := logFile.FindStringSubmatch(header.Name)
		if parts == nil || header.Typeflag != tar.TypeReg {
			continue
		}
		if err := writeLog(filepath.Join(folder, parts[1], "containers", parts[2], parts[3]), files); err != nil {
			return err
		}
	}
}

func writeLog(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	if _, err := io.Copy(file, content); err != nil {
		return errors.Join(fmt.Errorf("write the log: %w", err), file.Close())
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	return nil
}

func (c *companions) keepLog(ctx context.Context, name string) error {
	command := exec.CommandContext(ctx, "docker", "logs", c.containerName(name))
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("read the log of companion %q: %w", name, err)
	}
	path := c.dir.Join("logs", name+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of logs: %w", err)
	}
	if err := os.WriteFile(path, output, 0o600); err != nil {
		return fmt.Errorf("write the log of companion %q: %w", name, err)
	}
	return nil
}
