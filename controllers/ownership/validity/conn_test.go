package validity_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

func TestO2NothingIsWrittenAfterTheLapseNotEvenFromABuffer(t *testing.T) {
	t.Parallel()
	clock := &ownershiptest.Clock{}
	clock.Step(time.Hour)
	near, far := net.Pipe()
	defer far.Close()
	conn := &validity.Conn{Conn: near, Term: validity.NewTerm(clock, 3, clock.Now().Add(time.Second))}
	read := make(chan int, 2)
	go func() {
		for {
			n, err := far.Read(make([]byte, 10))
			read <- n
			if err != nil {
				return
			}
		}
	}()
	if n, err := conn.Write([]byte("valid")); err != nil || n != 5 || <-read != 5 {
		t.Fatalf("a valid write of %d bytes: %v", n, err)
	}
	clock.Step(2 * time.Second) // frozen between taking the message in and sending it
	if n, err := conn.Write([]byte("late")); !errors.Is(err, validity.ErrLapsed) || n != 0 {
		t.Errorf("a late write of %d bytes: %v", n, err)
	}
	if n := <-read; n != 0 {
		t.Errorf("%d late bytes arrived", n)
	}
}
