import { setImmediate as nextTurn } from 'node:timers/promises';
import { Pace, type Pacing } from '../../base/turns/turns.ts';
import { writePart } from '../../net/http/index.ts';
import { labelValue } from '../../tsdb/index.ts';
import type { Labels } from '../../tsdb/index.ts';
import { lostNodesHeader } from '../api/lost-nodes-header.ts';
import { ApiError } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Handler } from '../api/call.ts';
import { acceptedEncoding, encoded } from '../api/content-encoding.ts';
import { formatSample } from '../json/format-value.ts';
import { matcherSets } from '../api/params.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';
import { clusterLabel, clusterQueries, ofCluster } from '../run/cluster-label.ts';

/** Plain names are written bare in the text format; others are quoted inside the braces. */
const plainMetric = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const plainLabel = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const batchLength = 64 * 1024;

/**
 * `/federate`: the newest sample of every matching series, in the text format and with the sample's own time. Samples
 * older than the lookback are left out. Missing nodes are named in a header and in a comment at the end.
 */
export const federate: Handler = async (call, deps) => {
  const { req, res, params, signal } = call;
  const sets = matcherSets(params);
  if (sets.length === 0) throw new ApiError('bad_data', 'no match[] parameter provided');
  const request = runRequest(call);
  const endMs = deps.clock.now();
  const startMs = endMs - (request.lookbackDeltaMs ?? deps.settings.lookbackDelta) + 1;
  const { clusterName: cluster } = deps.settings;
  const queries = sets.map((matchers) => ({ startMs, endMs, matchers }));
  const answer = await deps.runner.select(clusterQueries(queries, cluster), request, linesBytes);
  const results = answer.result.map((series, i) => ofCluster(series, queries[i]!, cluster));
  lostNodesHeader(res, answer.missingNodes);
  const escaping = /escaping=allow-utf-8/.test(req.headers.accept ?? '') ? 'allow-utf-8' : 'underscores';
  res.setHeader('content-type', `text/plain; version=0.0.4; charset=utf-8; escaping=${escaping}`);
  const spell = escaping === 'underscores' ? underscored : (name: string): string => name;
  const out = encoded(res, acceptedEncoding(req.headers['accept-encoding']));
  let batch = '';
  const pace = new Pace(signal);
  const families = await familiesOf(results, { startMs, endMs, spell, cluster }, pace);
  for (const line of lines(families)) {
    batch += line;
    if (batch.length < batchLength) continue;
    if (signal.aborted) return;
    if (!(await writePart(out, batch, signal))) await nextTurn();
    batch = '';
  }
  for (const node of answer.missingNodes) batch += `# node ${node} is missing\n`;
  out.end(batch);
};

interface Federated {
  readonly startMs: number;
  readonly endMs: number;
  readonly cluster: string;
  /** The escaping of the names of metrics and labels. */
  readonly spell: (name: string) => string;
}

/** For readers that only know classic names: each character that they do not allow becomes an underscore. */
function underscored(name: string): string {
  return name.replace(/[^a-zA-Z0-9_:]/gu, '_').replace(/^\d/, '_');
}

/**
 * Metric → name and labels of a series → value and time of its newest sample. A series that two selectors match occurs
 * once.
 */
type Families = Map<string, Map<string, string>>;

/** Writing a series costs as much as 300 samples. */
const seriesWork = 300;
/** Size of a line beside its labels: its value and its places in `Families`. Bytes. */
const lineBytes = 250;
/** Characters around a label: `="",`. */
const labelPunctuation = 4;
/** Size of a character: two as soon as one of the line is beyond Latin-1. Bytes. */
const characterBytes = 2;

/** Memory of all lines, which are made before the first is sent. */
function linesBytes(results: readonly (readonly ReadSeries[])[]): number {
  let bytes = 0;
  for (const { labels } of results.flat()) {
    bytes += lineBytes;
    for (const [name, value] of labels) bytes += characterBytes * (name.length + value.length + labelPunctuation);
  }
  return bytes;
}

async function familiesOf(
  results: readonly (readonly ReadSeries[])[],
  { startMs, endMs, cluster, spell }: Federated,
  pace: Pacing,
): Promise<Families> {
  const byName: Families = new Map();
  for (const result of results) {
    for (const series of result) {
      if (pace.spend(seriesWork)) await pace.turn();
      const sample = newest(series, startMs, endMs);
      if (sample === undefined) continue;
      const name = spell(labelValue(series.labels, '__name__'));
      let family = byName.get(name);
      if (family === undefined) byName.set(name, (family = new Map()));
      const labels = series.labels.map(([label, value]) => [spell(label), value] as const);
      family.set(braces(name, labels, cluster), `${formatSample(sample.value)} ${sample.t}`);
    }
  }
  return byName;
}

/** The lines of the answer, in order of metric names. */
function* lines(byName: Families): Generator<string> {
  for (const name of [...byName.keys()].sort()) {
    yield `# TYPE ${plainMetric.test(name) ? name : quoted(name)} untyped\n`;
    for (const [head, value] of byName.get(name)!) yield `${head} ${value}\n`;
  }
}

function newest({ timestamps, values, histograms }: ReadSeries, from: number, to: number) {
  for (let i = timestamps.length - 1; i >= 0; i--) {
    const t = timestamps[i]!;
    if (t > to) continue;
    // The text format has no native histograms, and an ended series is left out.
    if (t < from || isStale(values, i) || histograms?.[i]) return undefined;
    return { t, value: values[i]! };
  }
  return undefined;
}

function isStale(values: Float64Array, i: number): boolean {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  return words[2 * i] === 2 && words[2 * i + 1] === 0x7ff00000;
}

/**
 * Name and labels as text. `instance` is always present, empty if need be: otherwise a scraper that honours labels
 * would set this server's own address.
 */
function braces(name: string, labels: Labels, cluster: string): string {
  const plain = plainMetric.test(name);
  const parts = plain ? [] : [quoted(name)];
  const has = new Set<string>();
  for (const [label, value] of labels) {
    if (label === '__name__') continue;
    has.add(label);
    parts.push(`${plainLabel.test(label) ? label : quoted(label)}=${quoted(value)}`);
  }
  if (cluster !== '' && !has.has(clusterLabel)) parts.push(`${clusterLabel}=${quoted(cluster)}`);
  if (!has.has('instance')) parts.push('instance=""');
  return `${plain ? name : ''}{${parts.join(',')}}`;
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
