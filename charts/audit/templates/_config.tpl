{{- /* The directory of a Secret in the pod. */}}
{{- define "audit.secretDir" -}}
/var/run/secrets/audit/{{ . }}/
{{- end }}

{{- /*
The config file. Fails if a Secret is not used by the config or a file in the config
is not mounted; otherwise such mistakes show only when a notification is sent.
*/}}
{{- define "audit.config" -}}
{{- $config := toYaml .Values.config }}
{{- range $kind, $secret := .Values.secrets }}
{{- $dir := include "audit.secretDir" $kind }}
{{- if and $secret (not (contains $dir $config)) }}
{{- fail (printf "secrets.%s is set, but no file in the config is in %s" $kind $dir) }}
{{- else if and (not $secret) (contains $dir $config) }}
{{- fail (printf "the config uses a file in %s, but secrets.%s is not set" $dir $kind) }}
{{- end }}
{{- end }}
{{- $config }}
{{- end }}
