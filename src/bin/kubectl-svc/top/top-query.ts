import { namespaceLabel } from '../../../api/labels.ts';
import type { Matcher } from '../../../promql/index.ts';
import { anyOf } from '../../../base/text/texts.ts';
import { builtInPresets } from '../../../query/custom-metrics/providers/presets.ts';
import type { DescribedResource } from '../../../api/described-resources.ts';
import type { TopKind } from './kinds.ts';

/** The figures of a row: the field of each in JSON, and the autoscaler preset with the same meaning. */
export const figures = {
  requestsPerSecond: 'http_requests_per_second',
  errorRatio: 'http_request_error_ratio',
  p50Seconds: 'http_request_duration_p50_seconds',
  p99Seconds: 'http_request_duration_p99_seconds',
  inBytesPerSecond: 'network_receive_bytes_per_second',
  outBytesPerSecond: 'network_transmit_bytes_per_second',
  requestBodyBytesPerSecond: 'http_request_bytes_per_second',
  responseBodyBytesPerSecond: 'http_response_bytes_per_second',
} as const;
export type Figure = keyof typeof figures;

/** The label that identifies the figure of a series in the answer. */
export const figureLabel = 'svc_top';

/** Names of the selected objects and, if these are pods, of their workloads. */
export interface Selected {
  readonly names: readonly string[];
  readonly owners: readonly string[];
}

export interface TopScope {
  readonly kind: TopKind;
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  /** What `-l` selects; undefined for all. */
  readonly selected: Selected | undefined;
  readonly windowMs: number;
  /** Include the sizes of bodies, as the instrument reports them. */
  readonly wide: boolean;
}

/** All figures as one query, so that they are from one moment and lack the same nodes. Pure. */
export function topQuery(scope: TopScope): string {
  const { kind, namespace, selected, windowMs } = scope;
  const matchersFor = (resource: DescribedResource | undefined): Matcher[] => {
    const { label } = kind.selected;
    // A flow names its workloads; its pods only where a policy says so.
    const byOwner = resource !== undefined && resource.label !== label;
    const [name, names] = byOwner ? [resource.label, selected?.owners] : [label, selected?.names];
    return [
      ...(namespace === undefined ? [] : [{ type: '=' as const, name: namespaceLabel, value: namespace }]),
      ...(kind.required === undefined ? [] : [{ type: '!=' as const, name: kind.required, value: '' }]),
      ...(names === undefined ? [] : [{ type: '=~' as const, name, value: anyOf(names) }]),
    ];
  };
  const shown = (Object.keys(figures) as Figure[]).filter((figure) => scope.wide || !isBody(figure));
  return shown
    .flatMap((figure) => {
      const preset = builtInPresets[figures[figure]]!;
      const of = (by: readonly string[], resource?: DescribedResource): string => {
        const { value } = preset({ by, matchers: matchersFor(resource), window: `${windowMs}ms`, resource });
        return `label_replace(${value}, "${figureLabel}", "${figure}", "", "")`;
      };
      if (!isOfFlows(figure)) return [of(kind.by)];
      // A flow names one owner; the owner's kind decides the label.
      return kind.flows.map((resource) =>
        of(
          kind.by.filter((l) => l === namespaceLabel || l === resource.label),
          resource,
        ),
      );
    })
    .join(' or ');
}

/** Figures that come from flows: unknown when none are captured. */
export const isOfFlows = (figure: Figure): boolean => figures[figure].startsWith('network');
/** Figures that only a wide table shows. */
export const isBody = (figure: Figure): boolean => figure.endsWith('BodyBytesPerSecond');
