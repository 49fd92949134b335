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
{{- $threshold := $change.threshold }}
{{- if and (eq $rule.alert "AuditSweepMissing") (not $threshold) }}
{{- $threshold = include "audit.twoPeriods" $ }}
{{- end }}
{{- with $threshold }}
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

{{- /* Twice the time between two sweeps, in minutes; empty if it is not known. */}}
{{- define "audit.twoPeriods" -}}
{{- $interval := .Values.deployment.interval }}
{{- if eq .Values.mode "cronjob" }}
{{- with include "audit.schedulePeriod" (include "audit.schedule" .) }}
{{- printf "%dm" (div (mul 2 (int .)) 60) }}
{{- end }}
{{- else if regexMatch "^[1-9][0-9]*[mh]$" $interval }}
{{- $unit := get (dict "m" 1 "h" 60) (regexFind "[mh]$" $interval) }}
{{- printf "%dm" (mul 2 $unit (regexFind "^[0-9]+" $interval | int)) }}
{{- end }}
{{- end }}
