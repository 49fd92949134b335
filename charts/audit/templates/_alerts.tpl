{{- /*
The groups of files/alerts.yaml with the changes of prometheusRule.alerts. A threshold is
the only product with the seconds of an hour or a day in its expression.
*/}}
{{- define "audit.alerts" -}}
{{- $spec := .Files.Get "files/alerts.yaml" | required "files/alerts.yaml is missing from the chart" | fromYaml }}
{{- $changes := .Values.prometheusRule.alerts }}
{{- $arrives := or (eq .Values.mode "deployment") ((.Values.config.pushgateway).url) }}
{{- range $group := $spec.groups }}
{{- $kept := list }}
{{- range $rule := $group.rules }}
{{- $change := get $changes $rule.alert | default dict }}
{{- if and (ne (toString $change.enabled) "false") (or $arrives (not (contains "absent(" $rule.expr))) }}
{{- with $change.severity }}
{{- $_ := set $rule.labels "severity" . }}
{{- end }}
{{- with $change.for }}
{{- $_ := set $rule "for" . }}
{{- end }}
{{- with $change.threshold }}
{{- $seconds := get (dict "m" "60" "h" "3600" "d" "86400") (regexFind "[mhd]$" .) }}
{{- $_ := set $rule "expr" (regexReplaceAll "[0-9]+ \\* (3600|86400)" $rule.expr (printf "%s * %s" (regexFind "^[0-9]+" .) $seconds)) }}
{{- end }}
{{- $kept = append $kept $rule }}
{{- end }}
{{- end }}
{{- $_ := set $group "rules" $kept }}
{{- end }}
{{- toYaml $spec }}
{{- end }}
