{{- /* The directory of a Secret in the pod. */}}
{{- define "audit.secretDir" -}}
/var/run/secrets/audit/{{ . }}/
{{- end }}

{{- /*
The config file. The token is read from the Slack Secret, unless the config already uses
a file in it. Fails if a Secret is not used by the config or a file in the config
is not mounted; otherwise such mistakes show only when a notification is sent.
*/}}
{{- define "audit.config" -}}
{{- $config := toYaml .Values.config }}
{{- $slack := include "audit.secretDir" "slack" }}
{{- if and .Values.secrets.slack (not (contains $slack $config)) (not (dig "slack" "tokenFile" "" .Values.config)) }}
{{- $config = toYaml (merge (dict "slack" (dict "tokenFile" (print $slack "token"))) (deepCopy .Values.config)) }}
{{- end }}
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
