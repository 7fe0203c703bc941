{{- /* The image of operator, agents and query server: by digest where there is one. */}}
{{- define "svc-operator.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end -}}
{{- /* Whether the release manages a namespace: it may create it, and the namespace does not exist, is this release's
already, or was made by another way of installing the operator (then Helm needs `--take-ownership`). Takes `release`,
`name` and `create`. */}}
{{- define "svc-operator.owns" -}}
{{- $found := lookup "v1" "Namespace" "" .name -}}
{{- if not .create -}}
{{- else if not $found -}}true
{{- else if eq (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $found) .release -}}true
{{- else if eq (dig "metadata" "labels" "app.kubernetes.io/name" "" $found) "svc-operator" -}}true
{{- end -}}
{{- end -}}
{{- define "svc-operator.ownsNamespace" -}}
{{- include "svc-operator.owns" (dict "release" .Release.Name "name" .Values.namespace.name "create" .Values.namespace.create) -}}
{{- end -}}
