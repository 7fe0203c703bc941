{{- /* The image of operator, agents and query server: by digest where there is one. */}}
{{- define "svc-operator.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end -}}
{{- /* Whether this release manages the namespace: yes if it did not exist, or if another way of installing this operator
made it, which `--take-ownership` then takes over. */}}
{{- define "svc-operator.ownsNamespace" -}}
{{- $found := lookup "v1" "Namespace" "" .Values.namespace.name -}}
{{- if not .Values.namespace.create -}}
{{- else if not $found -}}true
{{- else if eq (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $found) .Release.Name -}}true
{{- else if eq (dig "metadata" "labels" "app.kubernetes.io/name" "" $found) "svc-operator" -}}true
{{- end -}}
{{- end -}}
