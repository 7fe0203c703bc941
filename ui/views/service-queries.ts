/** The PromQL of a workload's graphs, over every protocol that it may serve. Pure. */
import { partLabel, requestFamilies, type RequestFamily } from '../../src/api/page/request-families.ts';
import { workloadMatchers } from './monitor-yaml.ts';
import type { Workload } from './workload-of.ts';

export interface ServiceQueries {
  /** Requests per second. */
  readonly rate: string;
  /** Share of failed requests, 0 to 1. As in the server's summaries, it is 0 even if no series counts failures. */
  readonly errorShare: string;
  /** The 99th percentile of request durations. Unit: ms. */
  readonly p99: string;
  /** Requests per second by these labels, the highest first. */
  readonly by: (...labels: readonly string[]) => string;
}

const served = requestFamilies.filter(({ side }) => side === 'server');

export function serviceQueries({ namespace, name, kind }: Workload): ServiceQueries {
  const own = workloadMatchers(namespace, name, kind);
  /** The rates of all families. Each has a mark, because series of two families may differ only in their names. */
  const rates = (suffix: '_bucket' | '_count', more: (family: RequestFamily) => string = () => ''): string =>
    served
      .map((family) => {
        const rate = `rate(${family.metric}${suffix}{${own}${more(family)}}[5m])`;
        return `label_replace(${rate}, "${partLabel}", "${family.part}", "", "")`;
      })
      .join(' or ');
  const rate = `sum(${rates('_count')})`;
  const failed = rates(
    '_count',
    ({ failed: { name: label, type, value } }) => `, ${label}${type}${JSON.stringify(value)}`,
  );
  return {
    rate,
    errorShare: `(sum(${failed}) or vector(0)) / ${rate}`,
    p99: `1000 * histogram_quantile(0.99, sum by (le) (${rates('_bucket')}))`,
    by: (...labels) => `sort_desc(sum by (${labels.join(', ')}) (${rates('_count')}))`,
  };
}
