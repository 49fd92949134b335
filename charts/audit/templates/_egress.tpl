{{- /*
The port of a URL, by default that of its scheme.
*/}}
{{- define "audit.port" -}}
{{- $url := urlParse . }}
{{- with regexFind ":[0-9]+$" $url.host }}
{{- trimPrefix ":" . }}
{{- else }}
{{- eq $url.scheme "http" | ternary 80 443 }}
{{- end }}
{{- end }}

{{- /* An egress rule for CIDRs or peers, and TCP ports. */}}
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
