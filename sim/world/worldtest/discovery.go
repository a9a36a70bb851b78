package worldtest

import "net/http"

// discover answers what clients ask to find out what there is.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/api":
		answer(w, http.StatusOK, object{"kind": "APIVersions", "versions": []string{"v1"}})
		return true
	case "/apis":
		answer(w, http.StatusOK, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": s.groups()})
		return true
	}
	for _, one := range s.resources {
		path := "/apis/" + one.groupVersion()
		if one.group == "" {
			path = "/api/" + one.version
		}
		if r.URL.Path == path {
			answer(w, http.StatusOK, object{
				"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": one.groupVersion(),
				"resources": s.resourcesOf(one.groupVersion()),
			})
			return true
		}
	}
	return false
}

func (s *Server) groups() []object {
	seen, groups := map[string]bool{}, []object{}
	for _, r := range s.resources {
		if r.group == "" || seen[r.group] {
			continue
		}
		seen[r.group] = true
		version := object{"groupVersion": r.groupVersion(), "version": r.version}
		groups = append(groups, object{"name": r.group, "versions": []object{version}, "preferredVersion": version})
	}
	return groups
}

func (s *Server) resourcesOf(groupVersion string) []object {
	var all []object
	for _, r := range s.resources {
		if r.groupVersion() == groupVersion {
			all = append(all, object{
				"name": r.name, "singularName": "", "namespaced": r.namespaced, "kind": r.kind,
				"verbs": []string{"create", "delete", "get", "list", "patch", "watch"},
			})
		}
	}
	return all
}
