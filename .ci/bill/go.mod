// The bills of materials and the licence report, in a module of their own: no program depends on what they need.
module github.com/transplant-sim/transplant/bill

go 1.26.0

toolchain go1.26.8

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/google/licensecheck v0.3.1
	go.yaml.in/yaml/v3 v3.0.6
)
