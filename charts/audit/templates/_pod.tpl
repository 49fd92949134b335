{{- /*
The template of a pod, given the root, its component and the arguments. It has no
writable volume, and mounts the token where client-go expects it.
*/}}
{{- define "audit.pod" -}}
{{- $own := merge (dict "app.kubernetes.io/component" .component) (include "audit.selectorLabels" .root | fromYaml) -}}
metadata:
  labels:
    {{- toYaml (merge $own .root.Values.podLabels (include "audit.labels" .root | fromYaml)) | nindent 4 }}
  annotations:
    {{- $sum := dict "checksum/config" (include "audit.config" .root | sha256sum) }}
    {{- toYaml (merge $sum .root.Values.podAnnotations .root.Values.commonAnnotations) | nindent 4 }}
spec:
  {{- include "audit.podSpec" . | nindent 2 }}
{{- end }}

{{- define "audit.podSpec" -}}
serviceAccountName: {{ include "audit.serviceAccountName" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
{{- if ne .component "serve" }}
restartPolicy: Never
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "audit.spread" . }}
containers:
  {{- include "audit.container" . | nindent 2 }}
volumes:
  {{- include "audit.volumes" .root | nindent 2 }}
{{- end }}

{{- define "audit.spread" -}}
{{- if .root.Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml .root.Values.topologySpreadConstraints | nindent 2 }}
{{- else if eq .component "serve" }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "audit.selectorLabels" .root | nindent 8 }}
        app.kubernetes.io/component: serve
{{- end }}
{{- end }}

{{- define "audit.container" -}}
- name: audit
  image: {{ include "audit.image" .root | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
    {{- range concat .args (list "--config=/etc/audit/audit.yaml" (printf "--timeout=%s" .root.Values.timeout)) .root.Values.extraArgs }}
    - {{ quote . }}
    {{- end }}
  {{- $limit := include "audit.goMemLimit" .root }}
  {{- if or $limit .root.Values.extraEnv }}
  env:
    {{- with $limit }}
    - name: GOMEMLIMIT
      value: {{ . }}
    {{- end }}
    {{- with .root.Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- if eq .component "serve" }}
  {{- include "audit.serving" . | nindent 2 }}
  {{- end }}
  resources:
    {{- toYaml .root.Values.resources | nindent 4 }}
  securityContext:
    {{- toYaml .root.Values.securityContext | nindent 4 }}
  volumeMounts:
    - {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
    - {name: config, mountPath: /etc/audit, readOnly: true}
    {{- range $kind, $secret := .root.Values.secrets }}
    {{- if $secret }}
    - {name: {{ $kind }}, mountPath: {{ include "audit.secretDir" $kind | trimSuffix "/" }}, readOnly: true}
    {{- end }}
    {{- end }}
    {{- with .root.Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "audit.serving" -}}
ports:
  - {name: http, containerPort: 8080}
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{- /*
90% of the limit; the rest is for memory that the Go runtime does not count. A value in
extraEnv takes precedence.
*/}}
{{- define "audit.goMemLimit" -}}
{{- $own := false }}
{{- range .Values.extraEnv }}
{{- $own = or $own (eq .name "GOMEMLIMIT") }}
{{- end }}
{{- $limit := $own | ternary "" (dig "limits" "memory" "" .Values.resources | toString) }}
{{- if regexMatch "^[1-9][0-9]*Mi$" $limit }}
{{- printf "%dMiB" (div (mul (trimSuffix "Mi" $limit) 9) 10) }}
{{- else if regexMatch "^[1-9][0-9]*Gi$" $limit }}
{{- printf "%dMiB" (div (mul (trimSuffix "Gi" $limit) 9216) 10) }}
{{- end }}
{{- end }}

{{- /* The volume for the token has the same content as the one that Kubernetes adds by default. */}}
{{- define "audit.volumes" -}}
- name: token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
      - configMap:
          name: kube-root-ca.crt
          items: [{key: ca.crt, path: ca.crt}]
      - downwardAPI:
          items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]
- name: config
  configMap: {name: {{ include "audit.fullname" . }}, defaultMode: 0444}
{{- range $kind, $secret := .Values.secrets }}
{{- if $secret }}
- name: {{ $kind }}
  # Only delivery needs it: without it the sweep still runs, and says what it lacks.
  secret: {secretName: {{ quote $secret }}, defaultMode: 0440, optional: true}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
