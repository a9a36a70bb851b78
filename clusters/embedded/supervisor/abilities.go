package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Ability is something that can be done to a cluster as a whole.
type Ability string

// The abilities of the clusters of both backends.
const (
	Lose   Ability = "lose"   // as clusters.Stopper does, and leave the disks
	Return Ability = "return" // as clusters.Stopper does
	Freeze Ability = "freeze" // as clusters.Freezer does
	Thaw   Ability = "thaw"   // as clusters.Freezer does
)

// Use an ability of a cluster of a landscape that is up. It returns when that is done. If ctx is cancelled before, the
// supervisor gives it up.
func Use(ctx context.Context, dir rundir.Dir, cluster string, ability Ability) error {
	response, err := call(ctx, dir, http.MethodPost, "/v1/clusters/"+url.PathEscape(cluster)+"/"+string(ability), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s cluster %q: landscape %q is that of a run: have a fault of its scenario do it, or start a "+
			"landscape with up", ability, cluster, dir.Name)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	why, err := io.ReadAll(response.Body)
	return errors.Join(errors.New(strings.TrimSpace(string(why))), err)
}

func (a *api) serveAbility(w http.ResponseWriter, r *http.Request) {
	a.mutex.Lock()
	phase, landscape := a.phase, a.landscape
	a.mutex.Unlock()
	if phase != Ready {
		http.Error(w, fmt.Sprintf("the landscape is not ready: its phase is %s", phase), http.StatusConflict)
		return
	}
	if err := use(r.Context(), landscape, r.PathValue("cluster"), Ability(r.PathValue("ability"))); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func use(ctx context.Context, landscape Landscape, name string, ability Ability) error {
	cluster, err := landscape.Cluster(name)
	if err != nil {
		return err
	}
	able, is := cluster.(interface {
		clusters.Stopper
		clusters.Freezer
		Outage() rundir.Outage
	})
	if !is {
		return fmt.Errorf("%s cluster %q: its backend cannot do that", ability, name)
	}
	if err := checkAbility(ability, able.Outage()); err != nil {
		return fmt.Errorf("%s cluster %q: %w", ability, name, err)
	}
	switch ability {
	case Lose:
		return able.Lose(ctx, false)
	case Return:
		return able.Return(ctx)
	case Freeze:
		return able.Freeze(ctx)
	case Thaw:
		return able.Thaw(ctx)
	}
	return fmt.Errorf("%s cluster %q: there is no such ability", ability, name)
}

// checkAbility refuses what a person asks for by mistake, such as the return of a frozen cluster, which would wait for
// an answer in vain. Clusters themselves accept everything: faults overlap, and are healed again.
func checkAbility(ability Ability, outage rundir.Outage) error {
	switch {
	case outage == rundir.Lost && ability != Return:
		return errors.New("it is lost: return it")
	case outage == rundir.Frozen && (ability == Return || ability == Freeze):
		return errors.New("it is frozen: thaw it")
	case outage == "" && ability == Thaw: // a return starts what has died by itself
		return errors.New("it is not frozen")
	}
	return nil
}
