{{- /*
The schedule. By default every ten minutes, in a minute that the names of cluster,
namespace and release decide: not all clusters sweep at once, and none at the full hour.
*/}}
{{- define "audit.schedule" -}}
{{- $names := printf "%s/%s/%s" (.Values.config.cluster | default "") .Release.Namespace .Release.Name }}
{{- .Values.cronjob.schedule | default (printf "%d-59/10 * * * *" (mod (adler32sum $names | int64) 9 | add1)) }}
{{- end }}

{{- /* The seconds of a duration such as 1h30m, rounded down. */}}
{{- define "audit.seconds" -}}
{{- $sum := 0 }}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?(ms|s|m|h)" (toString .) -1 }}
{{- $unit := get (dict "ms" 0 "s" 1 "m" 60 "h" 3600) (regexFind "[a-z]+$" .) }}
{{- $sum = addf $sum (mulf (regexFind "^[0-9.]+" . | float64) $unit) }}
{{- end }}
{{- int64 $sum }}
{{- end }}

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
{{- $schedule := include "audit.schedule" . }}
{{- $jitter := include "audit.seconds" $cronjob.jitter | int }}
{{- $reading := include "audit.seconds" .Values.timeout | int }}
{{- if and $jitter (ge (add $jitter $reading | int) (int $cronjob.activeDeadlineSeconds)) }}
{{- fail (printf "cronjob.jitter is %s, which with timeout %s does not fit cronjob.activeDeadlineSeconds, %d: a sweep would be ended before it has read everything" $cronjob.jitter .Values.timeout (int $cronjob.activeDeadlineSeconds)) }}
{{- end }}
{{- with include "audit.schedulePeriod" $schedule }}
{{- $period := int . }}
{{- range list "activeDeadlineSeconds" "startingDeadlineSeconds" }}
{{- if ge (get $cronjob . | int) $period }}
{{- fail (printf "cronjob.%s is %d, but with schedule %q the next sweep starts after %d seconds: set a shorter deadline" . (get $cronjob . | int) $schedule $period) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
