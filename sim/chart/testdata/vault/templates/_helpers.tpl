{{- define "name" -}}gardener-extension-{{ .Release.Name }}{{- end -}}
