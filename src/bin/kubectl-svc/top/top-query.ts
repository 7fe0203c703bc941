import { namespaceLabel } from '../../../api/labels.ts';
import type { Matcher } from '../../../promql/index.ts';
import { anyOf, escapedPattern } from '../../../base/text/texts.ts';
import { builtInPresets } from '../../../query/custom-metrics/providers/presets.ts';
import type { DescribedResource } from '../../../query/custom-metrics/resources.ts';
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

export interface TopScope {
  readonly kind: TopKind;
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  /** Names of the objects that `-l` selects; undefined for all. */
  readonly names: readonly string[] | undefined;
  readonly windowMs: number;
  /** Include the sizes of bodies, as the instrument reports them. */
  readonly wide: boolean;
}

/** All figures as one query, so that they are from one moment and lack the same nodes. Pure. */
export function topQuery(scope: TopScope): string {
  const { kind, namespace, names, windowMs } = scope;
  const matchers: Matcher[] = [
    ...(namespace === undefined ? [] : [{ type: '=' as const, name: namespaceLabel, value: namespace }]),
    ...(kind.required === undefined ? [] : [{ type: '!=' as const, name: kind.required, value: '' }]),
    ...(names === undefined ? [] : [{ type: '=~' as const, name: kind.selected.label, value: namesPattern(names) }]),
  ];
  const shown = (Object.keys(figures) as Figure[]).filter((figure) => scope.wide || !isBody(figure));
  return shown
    .flatMap((figure) => {
      const preset = builtInPresets[figures[figure]]!;
      const of = (by: readonly string[], resource?: DescribedResource): string => {
        const { value } = preset({ by, matchers, window: `${windowMs}ms`, resource });
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

/** A pattern of names: pods of one owner share all of their names but the last part, which is written once. */
function namesPattern(names: readonly string[]): string {
  const groups = Map.groupBy(names, (name) => name.slice(0, name.lastIndexOf('-') + 1));
  return [...groups]
    .map(([start, members]) => {
      if (members.length === 1) return escapedPattern(members[0]!);
      return `${escapedPattern(start)}(?:${anyOf(members.map((name) => name.slice(start.length)))})`;
    })
    .join('|');
}

/** Figures that come from flows: unknown when none are captured. */
export const isOfFlows = (figure: Figure): boolean => figures[figure].startsWith('network');
/** Figures that only a wide table shows. */
export const isBody = (figure: Figure): boolean => figure.endsWith('BodyBytesPerSecond');
