package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/transplant-sim/transplant/clusters/kind/imagebuild"
)

// store puts the control plane's images where a node's container runtime looks for them, so that a node pulls nothing:
// it runs the runtime here for a moment, on the node's folder.
func (i *image) store(ctx context.Context) error {
	archive, address := i.at("images.tar"), i.at("containerd.sock")
	tags := slices.Concat(i.names.controlPlane, []string{i.names.coredns, i.names.proxy, i.names.pause})
	if _, err := imagebuild.Run(ctx, "", nil, "docker", append([]string{"save", "--output", archive},
		tags...)...); err != nil {
		return err
	}
	// in Docker they were only on their way
	if _, err := imagebuild.Run(ctx, "", nil, "docker", append([]string{"image", "rm"}, tags...)...); err != nil {
		return err
	}
	stop, err := i.containerd(ctx, address)
	if err != nil {
		return err
	}
	_, err = imagebuild.Run(ctx, "", nil, i.at("bin", "ctr"), "--address", address, "--namespace", "k8s.io",
		"images", "import", "--local", "--discard-unpacked-layers", "--snapshotter", "overlayfs", archive)
	if err == nil {
		// nothing refers to the unpacked layers' archives any more
		_, err = imagebuild.Run(ctx, "", nil, i.at("bin", "ctr"), "--address", address, "--namespace", "k8s.io", "content",
			"prune", "references")
	}
	return errors.Join(err, stop())
}

// containerd starts it and waits until it answers.
func (i *image) containerd(ctx context.Context, address string) (stop func() error, err error) {
	config := i.at("containerd.toml")
	// its grandchildren are none of ours: no plugin that would touch the machine
	text := fmt.Sprintf(
		"version = 3\nroot = %q\nstate = %q\ndisabled_plugins = ['io.containerd.cri.v1.images', "+
			"'io.containerd.cri.v1.runtime', 'io.containerd.grpc.v1.cri']\n[grpc]\naddress = %q\n",
		i.at("root", "var", "lib", "containerd"), i.at("state"), address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration of containerd: %w", err)
	}
	log, err := os.Create(i.at("containerd.log"))
	if err != nil {
		return nil, fmt.Errorf("make the log of containerd: %w", err)
	}
	defer log.Close()
	command := exec.Command(i.at("bin", "containerd"), "--config", config)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for this program, which then ends it
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start containerd: %w", err)
	}
	stop = func() error {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("end containerd: %w", err)
		}
		_ = command.Wait() // it says that it was ended
		return nil
	}
	for range 60 {
		if _, err = imagebuild.Run(ctx, "", nil, i.at("bin", "ctr"), "--address", address, "--connect-timeout", "1s",
			"version"); err == nil {
			return stop, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), stop())
		case <-time.After(500 * time.Millisecond):
		}
	}
	said, _ := os.ReadFile(i.at("containerd.log"))
	return nil, errors.Join(fmt.Errorf("wait for containerd: %w: %s", err, said), stop())
}

// pack makes the node image of the root folder.
func (i *image) pack(ctx context.Context) error {
	if err := os.Mkdir(i.at("node"), 0o755); err != nil {
		return fmt.Errorf("make the build folder: %w", err)
	}
	if _, err := imagebuild.Run(ctx, "", nil, "tar", "--numeric-owner", "--xattrs", "-C", i.at("root"), "-cf",
		i.at("node", "root.tar"), "."); err != nil {
		return err
	}
	return imagebuild.Build(ctx, i.at("node"), []string{
		"FROM scratch",
		"ADD root.tar /",
		"ENV container=docker",
		imagebuild.Label(i.digest),
		"STOPSIGNAL SIGRTMIN+3", // systemd's signal to shut down
		`ENTRYPOINT ["/usr/local/bin/entrypoint"]`,
	}, i.tag)
}
