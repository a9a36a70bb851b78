package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// longestDelta is the longest time between two incremental backups that a scenario waits for before its first step.
const longestDelta = time.Minute

// awaitBackup waits until the shoot's backups contain all that its store holds now, so that a seed which is lost at the
// first step takes nothing that the scenario begins with. It returns false at once if the world cannot read backups, or
// if the scenario's backups are further apart than longestDelta.
func (s *shoots) awaitBackup(ctx context.Context, shoot string) (backedUp bool, err error) {
	reader, can := s.World.(world.BackupReader)
	if !can {
		return false, nil
	}
	if every := s.Scenario.Spec.Landscape.Settings.DeltaInterval.Duration; every > longestDelta {
		s.record(shoot, timeline.Note{Text: fmt.Sprintf(
			"the backups of %s may lack what the scenario begins with: deltaInterval is %s", shoot, every)})
		return false, nil
	}
	client, err := s.clientset(ctx, shoot)
	if err != nil {
		return false, err
	}
	return awaitRevision(ctx, s.Clock, reader, shoot, client)
}

// awaitRevision waits until the backups contain what the store holds now.
func awaitRevision(ctx context.Context, by clock.Clock, reader world.BackupReader, shoot string,
	client kubernetes.Interface) (bool, error) {
	list, err := client.CoreV1().ConfigMaps(probe.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return false, fmt.Errorf("read the revision of the store: %w", err)
	}
	now, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
	if err != nil {
		return false, fmt.Errorf("read the revision of the store: %w", err)
	}
	err = poll(ctx, by, "the backup of what the scenario begins with", func(ctx context.Context) (bool, error) {
		revision, err := reader.BackedUpTo(ctx, shoot)
		if err != nil {
			return false, err
		}
		return revision >= now, fmt.Errorf("the backups reach revision %d of %d", revision, now)
	})
	return err == nil, err
}
