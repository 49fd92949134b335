{{- /*
The kinds that a sweep reads with this config, sorted, one per line: those that the
enabled rules need according to files/kinds.yaml, and the host sources in the config.
*/}}
{{- define "audit.kinds" -}}
{{- $known := .Files.Get "files/kinds.yaml" | fromYaml }}
{{- $kinds := $known.always }}
{{- $hosts := false }}
{{- range $name, $rule := $known.rules }}
{{- $setting := get ($.Values.config.rules | default dict) $name | default dict }}
{{- if ne (toString $setting.enabled) "false" }}
{{- $kinds = concat $kinds $rule.kinds }}
{{- $hosts = or $hosts $rule.hostSources }}
{{- end }}
{{- end }}
{{- if $hosts }}
{{- $kinds = concat $kinds (include "audit.hostKinds" (list $known.hostSources .Values.config.hostSources) | splitList "\n") }}
{{- end }}
{{- range .Values.rbac.extraKinds }}
{{- $kinds = append $kinds (include "audit.kind" .) }}
{{- end }}
{{- $kinds | uniq | sortAlpha | join "\n" }}
{{- end }}

{{- /* The built-in host sources, as changed by the config. */}}
{{- define "audit.hostKinds" -}}
{{- $kinds := index . 0 }}
{{- range index . 1 }}
{{- $kind := include "audit.kind" . }}
{{- if eq (toString .enabled) "false" }}
{{- $kinds = without $kinds $kind }}
{{- else }}
{{- $kinds = append $kinds $kind }}
{{- end }}
{{- end }}
{{- join "\n" $kinds }}
{{- end }}

{{- /* A kind in the notation of kubectl, resource.group. */}}
{{- define "audit.kind" -}}
{{- .resource }}{{ with .group }}.{{ . }}{{ end }}
{{- end }}

{{- /* The rules of a role that allow reading the kinds, one for each API group. */}}
{{- define "audit.readRules" -}}
{{- $only := (.Files.Get "files/kinds.yaml" | fromYaml).only }}
{{- $groups := dict }}
{{- range include "audit.kinds" . | splitList "\n" }}
{{- $resource := regexFind "^[^.]*" . }}
{{- $group := . | trimPrefix $resource | trimPrefix "." }}
{{- if hasKey $only . }}
- apiGroups: [{{ quote $group }}]
  resources: [{{ quote $resource }}]
  resourceNames: {{ get $only . | toJson }}
  verbs: [get]
{{- else }}
{{- $_ := set $groups $group (append (get $groups $group | default list) $resource) }}
{{- end }}
{{- end }}
{{- range $group := keys $groups | sortAlpha }}
- apiGroups: [{{ quote $group }}]
  resources: {{ get $groups $group | toJson }}
  verbs: [list]
{{- end }}
{{- end }}
