package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// Kind is the backend of landscapes whose clusters are containers.
const Kind = "kind"

// State is landscape.json: what runs, for people and other programs. It exists from the moment the landscape is ready.
type State struct {
	Name       string         `json:"name"`
	Backend    string         `json:"backend,omitempty"` // Kind, or empty for processes of this machine
	Slot       int            `json:"slot"`              // -1 on Kind, which has no addresses of its own
	Supervisor process.ID     `json:"supervisor"`
	Ready      time.Time      `json:"ready"`
	Took       string         `json:"took"` // from start to ready, a duration such as "8.2s"
	Clusters   []ClusterState `json:"clusters"`
	Processes  []ProcessState `json:"processes,omitempty"` // of no cluster
	Links      []LinkState    `json:"links,omitempty"`
}

// ClusterState is one cluster in landscape.json.
type ClusterState struct {
	Name          string         `json:"name"`
	Role          string         `json:"role"`
	URL           string         `json:"url"`
	Pods          string         `json:"pods"`
	Services      string         `json:"services"`
	LoadBalancers string         `json:"loadBalancers"`
	Kubeconfig    string         `json:"kubeconfig"` // the observer's
	Outage        Outage         `json:"outage,omitempty"`
	Processes     []ProcessState `json:"processes"`
}

// Outage of a cluster is what has been done to it on purpose; empty where that is nothing.
type Outage string

// The outages of a cluster.
const (
	Lost   Outage = "lost" // until its return succeeds
	Frozen Outage = "frozen"
)

// ProcessState is one process in landscape.json.
type ProcessState struct {
	Name string `json:"name"`
	process.ID
	Log string `json:"log,omitempty"`
	// Metrics is where it serves /metrics, as host:port; pods say so by a port of theirs.
	Metrics string `json:"metrics,omitempty"`
}

// LinkState is one link in landscape.json.
type LinkState struct {
	Actor  string `json:"actor"`
	Target string `json:"target"`
	URL    string `json:"url"`
}

// All lists the processes of the landscape and of its clusters.
func (s State) All() []ProcessState {
	var all []ProcessState
	for _, c := range s.Clusters {
		all = append(all, c.Processes...)
	}
	return append(all, s.Processes...)
}

func (d Dir) statePath() string { return d.Join("landscape.json") }

// WriteState replaces landscape.json in one step.
func (d Dir) WriteState(state State) error {
	content, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of landscape %q: %w", d.Name, err)
	}
	temporary := d.statePath() + ".new"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the state of landscape %q: %w", d.Name, err)
	}
	if err := os.Rename(temporary, d.statePath()); err != nil {
		return fmt.Errorf("replace the state of landscape %q: %w", d.Name, err)
	}
	return nil
}

func (d Dir) endedPath() string { return d.Join("ended") }

// MarkEnded writes down that the landscape was stopped in order. A folder that is gone already needs no mark.
func (d Dir) MarkEnded() error {
	if err := os.WriteFile(d.endedPath(), nil, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("mark the end of landscape %q: %w", d.Name, err)
	}
	return nil
}

// Ended says whether the landscape was stopped in order, and not just died. A fresh folder has no such mark.
func (d Dir) Ended() bool {
	_, err := os.Stat(d.endedPath())
	return err == nil
}

// ReadState reads landscape.json. It is ErrNotUp when there is none.
func (d Dir) ReadState() (State, error) {
	content, err := os.ReadFile(d.statePath())
	if errors.Is(err, os.ErrNotExist) {
		return State{}, fmt.Errorf("read the state of landscape %q: %w", d.Name, ErrNotUp)
	}
	if err != nil {
		return State{}, fmt.Errorf("read the state of landscape %q: %w", d.Name, err)
	}
	var state State
	if err := json.Unmarshal(content, &state); err != nil {
		return State{}, fmt.Errorf("parse the state of landscape %q: %w", d.Name, err)
	}
	return state, nil
}
