/** One value of the Helm chart: its path, default, help text and schema. */
export interface ChartValue {
  path: string;
  default: unknown;
  help: string;
  schema: Record<string, unknown>;
}
