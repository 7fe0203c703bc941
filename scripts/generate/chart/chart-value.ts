/** One value of the chart: where it stands, its default, and what may stand there. */
export interface ChartValue {
  path: string;
  default: unknown;
  help: string;
  schema: Record<string, unknown>;
}
