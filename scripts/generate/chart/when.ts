/** Template lines that Helm renders only under a condition. */
export const when = (condition: string, ...lines: string[]): string[] => [
  `{{- if ${condition} }}`,
  ...lines,
  '{{- end }}',
];
