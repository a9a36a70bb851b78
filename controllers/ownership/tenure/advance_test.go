package tenure

import (
	"maps"
	"testing"
)

// No phase goes back, and what older builds have noted goes with the first phase that is written.
func TestAdvance(t *testing.T) {
	t.Parallel()
	type annotations = map[string]string
	of := func(epoch, phase string) annotations {
		return annotations{"transplant.dev/epoch": epoch, "transplant.dev/phase": phase}
	}
	older := func(epoch, begun, ended string) annotations {
		return annotations{"transplant.dev/epoch": epoch, "transplant.dev/begun-epoch": begun,
			"transplant.dev/ended-epoch": ended}
	}
	for name, c := range map[string]struct {
		before annotations
		to     Phase
		want   annotations
	}{
		"claimed, nothing is noted":          {nil, Claimed, of("5", "Claimed")},
		"claimed over an older epoch":        {of("4", "Begun"), Claimed, of("5", "Claimed")},
		"claimed over one that has ended":    {of("4", "Ended"), Claimed, of("5", "Claimed")},
		"claimed again":                      {of("5", "Claimed"), Claimed, of("5", "Claimed")},
		"claimed again, it was deployed":     {of("5", "Deployed"), Claimed, of("5", "Deployed")},
		"claimed again, it has begun":        {of("5", "Begun"), Claimed, of("5", "Begun")},
		"claimed again, it has ended":        {of("5", "Ended"), Claimed, of("5", "Ended")},
		"claimed again, it is saved":         {of("5", "Saved"), Claimed, of("5", "Saved")},
		"deployed":                           {of("5", "Claimed"), Deployed, of("5", "Deployed")},
		"deployed, it has begun":             {of("5", "Begun"), Deployed, of("5", "Begun")},
		"deployed, nothing is noted":         {nil, Deployed, nil},
		"begun":                              {of("5", "Claimed"), Begun, of("5", "Begun")},
		"begun, it was deployed":             {of("5", "Deployed"), Begun, of("5", "Begun")},
		"begun again":                        {of("5", "Begun"), Begun, of("5", "Begun")},
		"begun, it has ended":                {of("5", "Ended"), Begun, of("5", "Ended")},
		"begun, another epoch is noted":      {of("6", "Claimed"), Begun, of("6", "Claimed")},
		"begun, nothing is noted":            {nil, Begun, nil},
		"ended":                              {of("5", "Begun"), Ended, of("5", "Ended")},
		"ended, it never began":              {of("5", "Claimed"), Ended, of("5", "Saved")},
		"ended, it was deployed":             {of("5", "Deployed"), Ended, of("5", "Saved")},
		"ended again":                        {of("5", "Ended"), Ended, of("5", "Ended")},
		"ended again, it is saved":           {of("5", "Saved"), Ended, of("5", "Saved")},
		"ended, another epoch is noted":      {of("6", "Begun"), Ended, of("6", "Begun")},
		"ended, nothing is noted":            {nil, Ended, nil},
		"saved":                              {of("5", "Ended"), Saved, of("5", "Saved")},
		"abandoned":                          {of("4", "Begun"), Abandoned, annotations{}},
		"abandoned, nothing is noted":        {nil, Abandoned, nil},
		"older build, claimed over":          {older("4", "4", "4"), Claimed, of("5", "Claimed")},
		"older build, claimed again":         {older("5", "4", "4"), Claimed, of("5", "Claimed")},
		"older build, claimed again, begun":  {older("5", "5", "4"), Claimed, of("5", "Begun")},
		"older build, begun":                 {older("5", "4", "4"), Begun, of("5", "Begun")},
		"older build, ended":                 {older("5", "5", "4"), Ended, of("5", "Ended")},
		"older build, ended, it never began": {older("5", "4", "4"), Ended, of("5", "Saved")},
		"older build, abandoned":             {older("5", "5", "5"), Abandoned, annotations{}},
	} {
		namespace := namespaceWith(maps.Clone(c.before))
		want := maps.Clone(c.want)
		if c.before != nil {
			namespace.Annotations["other"], want["other"] = "stays", "stays"
		}
		here, err := Of(namespace, nil)
		if err != nil {
			t.Fatal(err)
		}
		if here.Advance(namespace, c.to, 5); !maps.Equal(namespace.Annotations, want) {
			t.Errorf("%s: got %v, want %v", name, namespace.Annotations, want)
		}
	}
}
