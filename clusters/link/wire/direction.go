package wire

import "fmt"

// Direction is the way that bytes take on a link. The zero value means both.
type Direction string

// The directions of a link.
const (
	Both     Direction = "Both"
	ToServer Direction = "ToServer"
	ToClient Direction = "ToClient"
)

func (d Direction) covers(other Direction) bool { return d == "" || d == Both || d == other }

// String is the direction; that of the zero value is "Both".
func (d Direction) String() string {
	if d == "" {
		return string(Both)
	}
	return string(d)
}

func (d Direction) validate() error {
	switch d {
	case "", Both, ToServer, ToClient:
		return nil
	}
	return fmt.Errorf("unknown direction %q: must be %q, %q or %q", string(d), Both, ToServer, ToClient)
}
