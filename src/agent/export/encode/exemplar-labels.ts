import type { Labels } from '../../../tsdb/index.ts';
import type { QueuedExemplar } from '../queue/record.ts';

/** The labels of an exemplar under Prometheus' names, in label order. */
export function exemplarLabels({ traceId, spanId }: QueuedExemplar): Labels {
  return [...(spanId === '' ? [] : [['span_id', spanId] as const]), ['trace_id', traceId] as const];
}
