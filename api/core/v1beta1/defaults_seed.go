package v1beta1

// SetDefaults implements Defaulted.
func (s *Seed) SetDefaults() {
	if len(s.Spec.Networks.IPFamilies) == 0 {
		s.Spec.Networks.IPFamilies = []IPFamily{IPFamilyIPv4}
	}
	settings := section(&s.Spec.Settings)
	setDefault(&settings.Scheduling, SeedSettingScheduling{Visible: true})
	setDefault(&settings.VerticalPodAutoscaler, SeedSettingVerticalPodAutoscaler{Enabled: true})
	setDefault(&settings.TopologyAwareRouting, SeedSettingTopologyAwareRouting{})
	watchdog := section(&settings.DependencyWatchdog)
	setDefault(&watchdog.Weeder, SeedSettingDependencyWatchdogWeeder{Enabled: true})
	setDefault(&watchdog.Prober, SeedSettingDependencyWatchdogProber{Enabled: true})
}
