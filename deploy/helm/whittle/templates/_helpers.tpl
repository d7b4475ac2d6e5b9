{{- define "whittle.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- define "whittle.selector" -}}
app.kubernetes.io/name: whittle
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "whittle.labels" -}}
{{ include "whittle.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
{{- define "whittle.config" -}}
{{- $admin := dict "listen" "127.0.0.1:8081" -}}
{{- if .Values.admin.tokenSecret -}}
{{- $admin = dict "listen" ":8081" "token_file" "/run/secrets/whittle/token" -}}
{{- end -}}
{{- $own := dict "listen" ":8080" "admin" $admin "state" "/var/lib/whittle/whittle.db" -}}
{{- if .Values.routes -}}
{{- $_ := set $own "include" "/etc/whittle-routes" -}}
{{- end -}}
{{- merge $own .Values.config | toYaml -}}
{{- end -}}
{{- define "whittle.ready" -}}
{{- if .Values.admin.tokenSecret -}}
httpGet:
  path: /readyz
  port: admin
{{- else -}}
exec:
  command: ["/usr/bin/whittle", "health", "--admin", "127.0.0.1:8081"]
{{- end -}}
{{- end -}}
