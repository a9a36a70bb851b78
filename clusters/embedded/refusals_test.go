package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
)

type processState = rundir.ProcessState

// TestMain lets the test binary play the process node, and the processes of no cluster that tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "processnode" {
		root := &cobra.Command{Use: "transplant"}
		root.AddCommand(processnode.NewCommand())
		if err := root.Execute(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(extraVariable) != "" {
		playExtra()
		return
	}
	os.Exit(m.Run())
}

// refuse expects a start to fail, to leave nothing, and to let the same run directory start again later.
func refuse(t *testing.T, ctx context.Context, options embedded.Options) error {
	t.Helper()
	if options.Dir == "" {
		options.Dir = filepath.Join(t.TempDir(), "landscape")
	}
	options.WithoutNodes = true
	if options.Seeds == nil {
		options.Seeds = []string{}
	}
	l, err := embedded.Start(ctx, options)
	if err == nil {
		_ = l.Stop(context.WithoutCancel(ctx))
		t.Fatal("the landscape started")
	}
	checkNothingLeft(t, options.Dir)
	lock, _, again := rundir.At("again", options.Dir).Acquire()
	if again == nil {
		again = lock.Unlock()
	}
	if again != nil && !errors.Is(err, rundir.ErrForeign) && !errors.Is(err, rundir.ErrInUse) {
		t.Errorf("the run directory cannot be used again: %v", again)
	}
	return err
}

// slot claims one that is free and gives it back, so that a test knows the addresses beforehand.
func freeSlot(t *testing.T) address.Slot {
	t.Helper()
	// From the top: landscapes of other tests take the first ones.
	for slot := address.Slot(address.Slots - 1); slot >= 0; slot-- {
		claim, err := address.TakeSlot(slot)
		if err != nil {
			continue
		}
		must(t, claim.Release())
		return slot
	}
	t.Fatal("no slot is free")
	return 0
}

func TestRefusals(t *testing.T) {
	t.Run("PortTaken", func(t *testing.T) {
		slot := freeSlot(t)
		plan, err := slot.Cluster(0)
		must(t, err)
		listener, err := net.Listen("tcp", plan.Node.String()+":6443")
		must(t, err)
		defer listener.Close()
		err = refuse(t, t.Context(), embedded.Options{Slot: &slot})
		var taken *address.TakenError
		if !errors.As(err, &taken) {
			t.Fatalf("got %v, want a TakenError", err)
		}
		for _, want := range []string{plan.Node.String() + ":6443", `kube-apiserver of cluster "garden"`, "--slot"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error %q does not mention %q", err, want)
			}
		}
	})
	t.Run("SlotTaken", func(t *testing.T) {
		slot := freeSlot(t)
		claim, err := address.TakeSlot(slot)
		must(t, err)
		defer claim.Release()
		if err := refuse(t, t.Context(), embedded.Options{Slot: &slot}); !errors.Is(err, address.ErrSlotTaken) {
			t.Errorf("got %v, want ErrSlotTaken", err)
		}
	})
	t.Run("MissingBinary", func(t *testing.T) {
		t.Setenv(binary.Variable, "/nowhere/controlplane")
		err := refuse(t, t.Context(), embedded.Options{})
		if !errors.Is(err, binary.ErrUnusable) || !strings.Contains(err.Error(), "/nowhere/controlplane") {
			t.Errorf("got %v, want ErrUnusable and the path", err)
		}
	})
	t.Run("BrokenBinary", func(t *testing.T) {
		err := refuse(t, t.Context(), embedded.Options{Binary: "/bin/false"})
		// whichever was reaped first
		ended := regexp.MustCompile(`process "garden/(etcd|kube-apiserver)" ended \(exit status 1\)`)
		if err == nil || !ended.MatchString(err.Error()) {
			t.Errorf("got %v, want a match of %q", err, ended)
		}
	})
	t.Run("ForeignFolder", func(t *testing.T) {
		dir := t.TempDir()
		precious := filepath.Join(dir, "thesis.txt")
		must(t, os.WriteFile(precious, []byte("the work of years"), 0o600))
		if err := refuse(t, t.Context(), embedded.Options{Dir: dir}); !errors.Is(err, rundir.ErrForeign) {
			t.Errorf("got %v, want ErrForeign", err)
		}
		if _, err := os.Stat(precious); err != nil {
			t.Errorf("a file that is not ours was touched: %v", err)
		}
	})
	t.Run("InUse", func(t *testing.T) {
		dir := rundir.At("l", filepath.Join(t.TempDir(), "landscape"))
		lock, _, err := dir.Acquire()
		must(t, err)
		defer lock.Unlock()
		if err := refuse(t, t.Context(), embedded.Options{Dir: dir.Path}); !errors.Is(err, rundir.ErrInUse) {
			t.Errorf("got %v, want ErrInUse", err)
		}
	})
	for name, seeds := range map[string][]string{
		"TooManySeeds": {"a", "b", "c", "d", "e", "f", "g"}, "TwiceTheSame": {"a", "a"}, "SeedNamedGarden": {"garden"},
		"BadName": {"A!"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := refuse(t, t.Context(), embedded.Options{Seeds: seeds}); !strings.Contains(err.Error(), "seed") {
				t.Errorf("got %v, want an error about seeds", err)
			}
		})
	}
}

// What goes wrong on the way up takes everything down again.
func TestNothingStaysHalfStarted(t *testing.T) {
	t.Parallel()
	skipShort(t)
	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		options := embedded.Options{Dir: filepath.Join(t.TempDir(), "landscape")}
		go func() { // as soon as etcd and the API server run
			for ctx.Err() == nil && len(processesOf(options.Dir)) < 2 {
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
		}()
		err := refuse(t, ctx, options)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
	t.Run("HookFails", func(t *testing.T) {
		t.Parallel()
		failure := errors.New("a manifest is broken")
		running := 0
		options := embedded.Options{Dir: filepath.Join(t.TempDir(), "landscape")}
		options.AfterClusters = func(context.Context, *embedded.Landscape) error {
			running = len(processesOf(options.Dir))
			return failure
		}
		err := refuse(t, t.Context(), options)
		if !errors.Is(err, failure) || !strings.Contains(err.Error(), options.Dir) {
			t.Errorf("got %v, want the hook's error and the place of the logs", err)
		}
		if running < 2 { // the others may have started, too
			t.Errorf("%d processes ran when the hook was called, want etcd and the API server", running)
		}
	})
}

// What comes after the clusters does not wait for more than their API servers.
func TestHook_ClusterWithoutControllers_IsCalledBeforeItIsReady(t *testing.T) {
	t.Parallel()
	skipShort(t)
	programs, err := binary.Ensure(t.Context(), nil)
	must(t, err)
	idle := filepath.Join(t.TempDir(), "controlplane")
	script := fmt.Sprintf("#!/bin/sh\n[ $1 != kube-controller-manager ] || exec sleep 600\nexec %q \"$@\"\n", programs)
	must(t, executabletest.Write(idle, []byte(script)))
	called := errors.New("it is called")
	options := embedded.Options{Binary: idle,
		AfterClusters: func(context.Context, *embedded.Landscape) error { return called }}
	if err := refuse(t, t.Context(), options); !errors.Is(err, called) {
		t.Errorf("got %v, want the hook's error", err)
	}
}

// A landscape that was stopped can be distinguished later from one that died.
func TestAStopIsMarked(t *testing.T) {
	dir := rundir.At("stopped", filepath.Join(t.TempDir(), "landscape"))
	l, err := embedded.Start(t.Context(), embedded.Options{Dir: dir.Path, Seeds: []string{}, WithoutNodes: true,
		Binary: "/bin/false"})
	if err == nil {
		_ = l.Stop(context.WithoutCancel(t.Context()))
		t.Fatal("the landscape started")
	}
	if !dir.Ended() {
		t.Error("what has started in part and was stopped again is not marked as ended")
	}
}
