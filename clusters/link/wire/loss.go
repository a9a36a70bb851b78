package wire

import (
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
)

const (
	// retransmission is after how long TCP sends a lost packet again at the earliest; each further loss of it doubles the
	// time, up to slowestRetransmission (RFC 6298; TCP_RTO_MIN and TCP_RTO_MAX of Linux).
	retransmission        = 200 * time.Millisecond
	slowestRetransmission = 120 * time.Second
	// retransmissions is how often TCP tries, before it gives the connection up.
	retransmissions = 15
)

// Loss loses packets in its direction, as far as a stream has any: bytes are taken as packets of 1448, each of which is
// lost by chance. TCP sends a lost packet again, so that its bytes, and all behind them, are late: by 200 ms, 600 ms if
// it is lost twice, and so on, with at most 120 s between two attempts. After 15 of them TCP gives up: then the
// connection waits for the heal. Several packets that are lost at once wait together. The end of a stream is not lost.
//
// A correlation is one of packets that follow each other. A packet that is sent again comes so much later that what
// happened to it before says nothing: each attempt is lost by chance alone.
type Loss struct {
	Direction Direction `json:"direction,omitempty"`
	Chance    `json:",inline"`
}

var _ Fault = Loss{}

// Name is "Loss(direction,percent)".
func (l Loss) Name() string { return fmt.Sprintf("Loss(%s,%s)", l.Direction, l.Chance) }

// Validate wants percentages.
func (l Loss) Validate() error {
	if err := l.Chance.Validate(); err != nil {
		return err
	}
	return l.Direction.validate()
}

// Start begins the fault on one link.
func (l Loss) Start(roll Dice) Effect {
	lost := &series{Chance: l.Chance, roll: roll}
	return Effect{Direction: l.Direction, Release: func(t Transit) time.Time {
		latest := t.Arrived
		for range packets(t.Bytes) {
			if !lost.strikes() {
				continue
			}
			if at := t.Arrived.Add(l.sentAgain(roll)); at.After(latest) {
				latest = at
			}
		}
		return latest
	}}
}

// sentAgain is how late a packet is that is lost.
func (l Loss) sentAgain(roll Dice) (late time.Duration) {
	wait := retransmission
	for range retransmissions {
		late += wait
		if !l.Chance.alone(roll) {
			return late
		}
		wait = min(2*wait, slowestRetransmission)
	}
	return forever
}

// MarshalJSON writes the fault with its type.
func (l Loss) MarshalJSON() ([]byte, error) {
	type plain Loss
	return faultjson.Marshal("Loss", plain(l))
}
