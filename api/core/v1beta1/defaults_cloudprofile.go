package v1beta1

// ArchitectureAMD64 is the CPU architecture of machine types, of images and of worker pools that name none.
const ArchitectureAMD64 = "amd64"

// SetDefaults implements Defaulted. Where a profile defines capabilities, these say what architectures there are, and
// the older fields stay as they are.
func (p *CloudProfile) SetDefaults() {
	architectures := len(p.Spec.MachineCapabilities) == 0
	for i := range p.Spec.MachineImages {
		image := &p.Spec.MachineImages[i]
		setDefault(&image.UpdateStrategy, UpdateStrategyMajor)
		for j := range image.Versions {
			image.Versions[j].setDefaults(architectures)
		}
	}
	for i := range p.Spec.MachineTypes {
		machine := &p.Spec.MachineTypes[i]
		setDefault(&machine.Usable, true)
		if architectures {
			setDefault(&machine.Architecture, ArchitectureAMD64)
		}
	}
	for i := range p.Spec.VolumeTypes {
		setDefault(&p.Spec.VolumeTypes[i].Usable, true)
	}
}

func (v *MachineImageVersion) setDefaults(architectures bool) {
	if len(v.CRI) == 0 {
		v.CRI = []CRI{{Name: CRINameContainerD}}
	}
	if architectures && len(v.Architectures) == 0 {
		v.Architectures = []string{ArchitectureAMD64}
	}
}
