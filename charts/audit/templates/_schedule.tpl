{{- /*
The numbers that the minute or hour field of a schedule stands for, in order, given the
field and the number of values. Nothing if the field has another form, which Kubernetes
then rejects.
*/}}
{{- define "audit.cronField" -}}
{{- $size := index . 1 }}
{{- $found := dict }}
{{- range splitList "," (index . 0) }}
{{- if regexMatch "^([*?]|[0-9]+(-[0-9]+)?)(/[1-9][0-9]*)?$" . }}
{{- $step := regexFind "/.*$" . | trimPrefix "/" | default "1" | int }}
{{- $range := regexFind "^[^/]*" . | replace "?" "*" }}
{{- $first := $range | replace "*" "0" | regexFind "^[0-9]+" | int }}
{{- $last := $first }}
{{- if contains "-" $range }}
{{- $last = regexFind "[0-9]+$" $range | int }}
{{- else if or (eq $range "*") (contains "/" .) }}
{{- $last = sub $size 1 | int }}
{{- end }}
{{- range untilStep $first (min $last (sub $size 1) | int | add1 | int) $step }}
{{- $_ := set $found (printf "%02d" .) true }}
{{- end }}
{{- end }}
{{- end }}
{{- keys $found | sortAlpha | join " " }}
{{- end }}

{{- /* The shortest distance between two of the numbers, on a dial of the given size. */}}
{{- define "audit.shortest" -}}
{{- $numbers := index . 0 }}
{{- $size := index . 1 }}
{{- $shortest := $size }}
{{- $before := sub (last $numbers | trimPrefix "0" | int) $size }}
{{- range $numbers }}
{{- $n := trimPrefix "0" . | int }}
{{- $shortest = min $shortest (sub $n $before) }}
{{- $before = $n }}
{{- end }}
{{- $shortest }}
{{- end }}

{{- /*
The shortest time between two sweeps of the schedule, in seconds. Empty if the schedule
has a form that is unknown here.
*/}}
{{- define "audit.schedulePeriod" -}}
{{- $fields := splitList " " . }}
{{- if eq . "@hourly" }}
{{- 3600 }}
{{- else if hasPrefix "@" . }}
{{- 86400 }}
{{- else }}
{{- $minutes := include "audit.cronField" (list (index $fields 0) 60) | splitList " " | compact }}
{{- $hours := include "audit.cronField" (list (index $fields 1) 24) | splitList " " | compact }}
{{- if and $minutes $hours }}
{{- $between := include "audit.shortest" (list $hours 24) | int }}
{{- if eq $between 1 }}
{{- mul 60 (include "audit.shortest" (list $minutes 60) | int) }}
{{- else if eq (len $minutes) 1 }}
{{- mul 3600 $between }}
{{- else }}
{{- /* The last minute of an hour and the first of the next sweeping hour are further apart. */}}
{{- $dial := mul $between 60 | int }}
{{- mul 60 (include "audit.shortest" (list $minutes $dial) | int) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Fails if a sweep may take until the next one, or start after it. */}}
{{- define "audit.checkDeadlines" -}}
{{- $cronjob := .Values.cronjob }}
{{- with include "audit.schedulePeriod" $cronjob.schedule }}
{{- $period := int . }}
{{- range list "activeDeadlineSeconds" "startingDeadlineSeconds" }}
{{- if ge (get $cronjob . | int) $period }}
{{- fail (printf "cronjob.%s is %d, but with schedule %q the next sweep starts after %d seconds: set a shorter deadline" . (get $cronjob . | int) $cronjob.schedule $period) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
