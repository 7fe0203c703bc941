/** The PromQL of a workload's graphs. Pure. */
import { workloadMatchers } from './monitor-yaml.ts';
import type { Workload } from './workload-of.ts';

const requests = 'http_server_request_duration_count';
const buckets = 'http_server_request_duration_bucket';

export interface ServiceQueries {
  /** Requests per second. */
  readonly rate: string;
  /** Share of failed requests, 0 to 1. As in the server's summaries, it is 0 even if no series counts failures. */
  readonly errorShare: string;
  /** The 99th percentile of request durations. Unit: ms. */
  readonly p99: string;
  /** Requests per second by this label, the highest first. */
  readonly by: (label: string) => string;
}

export function serviceQueries({ namespace, name, kind }: Workload): ServiceQueries {
  const own = workloadMatchers(namespace, name, kind);
  const rate = `sum(rate(${requests}{${own}}[5m]))`;
  return {
    rate,
    errorShare: `(sum(rate(${requests}{${own}, http_response_status_code=~"5.."}[5m])) or vector(0)) / ${rate}`,
    p99: `1000 * histogram_quantile(0.99, sum by (le) (rate(${buckets}{${own}}[5m])))`,
    by: (label) => `sort_desc(sum by (${label}) (rate(${requests}{${own}}[5m])))`,
  };
}
