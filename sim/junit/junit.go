// Package junit writes test cases in JUnit's format, as CI systems read it.
//
// It knows neither runs nor contracts: who has results makes cases of them.
package junit

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// FileName of results in JUnit's format.
const FileName = "junit.xml"

// Suite and its parts are JUnit's format. Times are in seconds.
type Suite struct {
	XMLName xml.Name `xml:"testsuite"`
	Name    string   `xml:"name,attr"`
	// Tests and the other counts are filled in by Marshal.
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Skipped  int     `xml:"skipped,attr"`
	Time     float64 `xml:"time,attr"`
	// Timestamp is the Moment when it began; empty if that is not known.
	Timestamp  string     `xml:"timestamp,attr,omitempty"`
	Properties []Property `xml:"properties>property"`
	Cases      []Case     `xml:"testcase"`
}

// Property of a suite.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is a test case. It has passed if it has no problem.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    float64  `xml:"time,attr"`
	Failure *Problem `xml:"failure"`
	Error   *Problem `xml:"error"`
	Skipped *Problem `xml:"skipped"`
}

// Problem says why a case has not passed.
type Problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Moment is RFC 3339 without a zone, in UTC.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }

// Because is a problem whose message is the first line of a text.
func Because(text string) *Problem {
	line, _, _ := strings.Cut(text, "\n")
	return &Problem{line, text}
}

// Marshal counts the cases, and is the content of a file.
func (s Suite) Marshal() ([]byte, error) { return marshal(s.counted()) }

// Marshal several suites as one file, with the cases of each counted.
func Marshal(suites []Suite) ([]byte, error) {
	all := struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []Suite
	}{}
	for _, s := range suites {
		all.Suites = append(all.Suites, s.counted())
	}
	return marshal(all)
}

// counted has the numbers of its cases.
func (s Suite) counted() Suite {
	s.Tests, s.Failures, s.Errors, s.Skipped = len(s.Cases), 0, 0, 0
	for _, c := range s.Cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Error != nil {
			s.Errors++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	return s
}

func marshal(results any) ([]byte, error) {
	content, err := xml.MarshalIndent(results, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("marshal %s: %w", FileName, err)
	}
	return []byte(xml.Header + string(content) + "\n"), nil
}
