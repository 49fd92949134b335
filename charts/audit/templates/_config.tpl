{{- /* The folder of a Secret in the pod. */}}
{{- define "audit.secretFolder" -}}
/var/run/secrets/audit/{{ . }}/
{{- end }}

{{- /*
The config file. A Secret that nothing reads, and a file that nothing mounts, are
mistakes that would only show when somebody is to be told something.
*/}}
{{- define "audit.config" -}}
{{- $config := toYaml .Values.config }}
{{- range $kind, $secret := .Values.secrets }}
{{- $folder := include "audit.secretFolder" $kind }}
{{- if and $secret (not (contains $folder $config)) }}
{{- fail (printf "secrets.%s names a Secret, and no file in the config begins with %s" $kind $folder) }}
{{- else if and (not $secret) (contains $folder $config) }}
{{- fail (printf "the config names a file in %s, and secrets.%s names no Secret" $folder $kind) }}
{{- end }}
{{- end }}
{{- $config }}
{{- end }}
