package verdict

import (
	"cmp"
	"encoding/json"
)

// Fault and how often something met it.
type Fault struct {
	Name string `json:"name"`
	Hits int    `json:"hits"`
}

// UnmarshalJSON reads the fault, also from files of earlier versions: they called the hits touched.
func (f *Fault) UnmarshalJSON(content []byte) error {
	type plain Fault // without this method
	var read struct {
		plain
		Touched int `json:"touched"`
	}
	if err := json.Unmarshal(content, &read); err != nil {
		return err
	}
	*f = Fault(read.plain)
	f.Hits = cmp.Or(f.Hits, read.Touched)
	return nil
}
