package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/cloudcontroller"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// A seed that is a shoot has those volumes of the cloud that carry its name. Each belongs to the claim whose UID its
// name has, and mentions the shoot whose control plane has claimed it.
func TestVolumesOf_ASeedAmongShoots_BelongToItsClaims(t *testing.T) {
	t.Parallel()
	c := cloudtest.New(t).Client(t)
	create := func(shoot, claim, claimant string) string {
		v, err := c.Volumes().Create(t.Context(), &cloud.Volume{Size: "1Gi", Zone: "z", Tags: map[string]string{
			cloudcontroller.TagShoot: shoot, cloud.TagName: cloud.VolumePrefix + claim,
			cloud.TagFor: "PersistentVolumeClaim " + claimant,
		}})
		if err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	id := create("shoot--p--a", "uid", "shoot--p--b/data")
	create("shoot--p--c", "other", "shoot--p--a/data")
	got, err := volumesOf(t.Context(), c, "shoot--p--a")
	want := []timeline.Item{{Class: "folder", Namespace: "volumes", Name: id, Owner: "uid",
		Mentions: mentions("shoot--p--b")}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(want[0].Mentions) == 0 {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
