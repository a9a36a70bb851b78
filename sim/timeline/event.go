package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Kind says what an event is about. The set is closed: each kind has one payload type.
type Kind string

// Payload is the content of an event.
type Payload interface {
	// Kind of the events that carry this payload.
	Kind() Kind
}

// Event is one fact of a run.
type Event struct {
	// Seq numbers the events of a run from 1, without gaps.
	Seq int
	// At is when the event was noted, counted from the start of the run. Between two events, Seq decides the order.
	At time.Duration
	// Kind is that of the payload.
	Kind Kind
	// Actor is who did or saw it ("user", "observer", "operator", a cloud identity); may be empty.
	Actor string
	// Subject is what it is about: the name of a shoot, a seed, a fault; may be empty.
	Subject string
	Payload Payload
}

// wireEvent is the form of an event in a file.
type wireEvent struct {
	Seq     int             `json:"seq"`
	At      Moment          `json:"at"`
	Kind    Kind            `json:"kind"`
	Actor   string          `json:"actor,omitempty"`
	Subject string          `json:"subject,omitempty"`
	Payload json.RawMessage `json:"payload"`
}

// MarshalJSON writes the event as it stands in a file.
func (e Event) MarshalJSON() ([]byte, error) {
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("marshal the payload of event %d: %w", e.Seq, err)
	}
	return json.Marshal(wireEvent{e.Seq, Moment(e.At), e.Kind, e.Actor, e.Subject, payload})
}

// UnmarshalJSON reads an event; a kind that is not of the closed set is an error.
func (e *Event) UnmarshalJSON(content []byte) error {
	var wire wireEvent
	if err := json.Unmarshal(content, &wire); err != nil {
		return err
	}
	form, known := payloadTypes[wire.Kind]
	if !known {
		return fmt.Errorf("read event %d: unknown kind %q", wire.Seq, wire.Kind)
	}
	payload := reflect.New(form)
	content, err := withFieldsOfToday(wire.Kind, wire.Payload)
	if err == nil {
		err = json.Unmarshal(content, payload.Interface())
	}
	if err != nil {
		return fmt.Errorf("read the payload of event %d, a %s: %w", wire.Seq, wire.Kind, err)
	}
	*e = Event{wire.Seq, time.Duration(wire.At), wire.Kind, wire.Actor, wire.Subject, payload.Elem().Interface().(Payload)}
	return nil
}

// formerKinds and formerFields are the names in timelines of earlier versions, with those of today.
var (
	formerKinds  = map[string]Kind{"ShootSteady": "ShootReady"}
	formerFields = map[Kind]map[string]string{
		"RunStarted":  {"story": "definition"},
		"RunEnded":    {"broken": "error"},
		"FaultHealed": {"touched": "hits"},
	}
)

// UnmarshalText reads a kind, also by its former name.
func (k *Kind) UnmarshalText(text []byte) error {
	*k = cmp.Or(formerKinds[string(text)], Kind(text))
	return nil
}

func withFieldsOfToday(kind Kind, payload json.RawMessage) (json.RawMessage, error) {
	if formerFields[kind] == nil {
		return payload, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, err
	}
	for former, now := range formerFields[kind] {
		if value, has := fields[former]; has {
			fields[now] = value
			delete(fields, former)
		}
	}
	return json.Marshal(fields)
}

// Kinds lists one empty payload of every kind.
func Kinds() []Payload {
	return []Payload{
		RunStarted{}, LandscapeReady{}, ShootReady{}, StepStarted{}, StepEnded{}, FaultAwaited{}, FaultInjected{},
		FaultHealed{},
		Settling{}, Settled{}, RunEnded{}, Note{}, Looked{}, Observed{}, ConditionMet{},
		Write{}, Read{}, CachedRead{}, Reached{}, VersionsSeen{}, DataSeen{}, DataCounted{},
		ShootSeen{}, SeedSeen{}, EpochSeen{}, NodeSeen{}, PodSeen{}, ObjectsSeen{}, ExtensionSeen{}, ExtensionStateSeen{},
		CloudCalled{}, InventorySeen{}, CostSeen{}, ActorEnded{}, Unseen{},
	}
}

var payloadTypes = func() map[Kind]reflect.Type {
	types := map[Kind]reflect.Type{}
	for _, payload := range Kinds() {
		types[payload.Kind()] = reflect.TypeOf(payload)
	}
	return types
}()

// Moment is an instant of the run, counted from its start; in files a string such as "12.5s".
type Moment time.Duration

// String writes the moment as a duration.
func (m Moment) String() string { return time.Duration(m).String() }

// Seconds since the start of the run.
func (m Moment) Seconds() float64 { return time.Duration(m).Seconds() }

// MarshalText writes the moment as a duration.
func (m Moment) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a duration.
func (m *Moment) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*m = Moment(d)
	return err
}

// Length of a stretch of time; in files a string such as "1.5s".
type Length time.Duration

// MarshalText writes the length as a duration.
func (l Length) MarshalText() ([]byte, error) { return []byte(time.Duration(l).String()), nil }

// UnmarshalText reads a duration.
func (l *Length) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*l = Length(d)
	return err
}
