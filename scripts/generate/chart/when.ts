/** Lines of a template that are there on a condition only. */
export const when = (condition: string, ...lines: string[]): string[] => [
  `{{- if ${condition} }}`,
  ...lines,
  '{{- end }}',
];
