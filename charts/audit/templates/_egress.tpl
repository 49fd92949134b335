{{- /*
The port that a URL leads to. What comes without one leads to the port of its
scheme.
*/}}
{{- define "audit.port" -}}
{{- $url := urlParse . }}
{{- with regexFind ":[0-9]+$" $url.host }}
{{- trimPrefix ":" . }}
{{- else }}
{{- eq $url.scheme "http" | ternary 80 443 }}
{{- end }}
{{- end }}

{{- /* A rule of egress, given blocks of addresses or peers, and TCP ports. */}}
{{- define "audit.egress" -}}
- ports:
    {{- range .ports }}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
  {{- if or .cidrs .peers }}
  to:
    {{- range .cidrs }}
    - ipBlock: {cidr: {{ quote . }}}
    {{- end }}
    {{- with .peers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}
