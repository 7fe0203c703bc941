import { ExemplarRing } from '../exemplars/exemplar-ring.ts';
import { Identity } from '../identity/identity.ts';
import type { Attribute, Metric, MetricsRequest, PointBase } from '../otlp/model.ts';
import { type Expanded, expandPoint, familyType, layoutOf, sameShape } from './components.ts';
import { noteExemplars } from './exemplars.ts';
import { flowRules } from './flow-rules.ts';
import { handOut, handOutSkipped, type SampleSink } from './hand-out.ts';
import type { Pair } from './label-set.ts';
import { metricFamily } from './metric-families.ts';
import { coversSender, fallbackRules, servedPort, streamRules } from './monitor-rules.ts';
import { infoMetrics, metricName } from './names.ts';
import { Pace } from './pace.ts';
import type { MappingPolicy } from './policy.ts';
import { metricProtocol } from './protocol.ts';
import { type Charged, type LimitScope, type MonitorCounts, overflowLabels, SeriesLimits } from './series-limits.ts';
import { type Family, type Group, type Series, SeriesTable } from './series-table.ts';
import { newStream, rememberedMs, silenceLimit, type Stream, type StreamSet } from './stream.ts';
import { PeerNames } from './peer-names.ts';
import { addend, countBehind, countedSoFar, incrementOf, isReset, keptUp, noteStart, placeZero } from './resets.ts';
import { type StreamBounds, StreamShares, streamWeight } from './stream-shares.ts';
import {
  accountOf,
  chargedTo,
  isFlow,
  ResourceLabels,
  type StreamSubject,
  streamSubject,
  subjectLabels,
} from './stream-subject.ts';
import { StreamIndex } from './stream-index.ts';

/** Wall time for samples, monotonic time for silence. Units: ms. */
export interface Moment {
  readonly wall: number;
  readonly mono: number;
}

/** A label set that a limit prevents from having series of its own. */
interface Beyond {
  readonly base: readonly Pair[];
  readonly namespaces: readonly string[];
  readonly scope: LimitScope;
  readonly size: number;
}

/** The outcome of a request's points. */
export interface MapCounts {
  /** Points of `obi.network.*`, and of `http.*`. */
  l4: number;
  http: number;
  /** Points that were duplicates or older than the newest one of their stream. */
  late: number;
  /** Points of streams that the table of streams has no room for. */
  refused: number;
  /** Streams whose pod was unknown when they were bound: those of workloads, and those of flows. */
  unknownPods: number;
  unknownFlows: number;
  /** Streams that named another namespace, pod or node than their sender's. */
  contradicted: number;
}

/**
 * Turns OTLP points into series.
 *
 * Flow: `add` (points → streams → series, in memory) → `flush` (one sample per touched series) → `expire` (silence →
 * stale markers). `setPolicy` binds every stream again.
 * Guarantees: a stream alone in its series passes its raw values on. When its start time has changed and its values do
 * not show the reset, a zero is inserted between the old and the new value. Before the first value of a stream the sink
 * learns the stream's start time, because the store may have values of an earlier process. When the labels that
 * distinguish streams are dropped, the streams' increments are added, and the sum never falls when one of them restarts
 * or ends.
 * Caveats: when only the agent has restarted, the sum of merged streams goes on from its stored value, but what they
 * counted in between may be missing. The mapper does no I/O and has no clock: times are arguments.
 */
export class SeriesMapper {
  readonly table = new SeriesTable();
  /** The newest exemplars of all series. */
  readonly exemplars = new ExemplarRing();
  readonly limits: SeriesLimits;
  readonly counts: MapCounts = {
    l4: 0,
    http: 0,
    late: 0,
    refused: 0,
    unknownPods: 0,
    unknownFlows: 0,
    contradicted: 0,
  };
  /** Streams that named a pod while their sender was not a pod of this node. */
  strangers = 0;
  /** The pod whose attributes last named another pod; `''` for none yet. */
  lastContradiction = '';
  /** Number of series that hit a limit, by the scope of the limit. */
  readonly limitHits: Record<LimitScope, number> = { node: 0, namespace: 0, monitor: 0 };
  #policy: MappingPolicy;
  /** What was made of Resources under this policy. */
  #made = new ResourceLabels();
  readonly #streams = new StreamIndex();
  #touched: Series[] = [];
  #window = 1;
  readonly #identity: Identity;
  readonly #peers: PeerNames;
  readonly #shares = new StreamShares();
  readonly #pace = new Pace();
  #identityVersion = 0;

  constructor(policy: MappingPolicy, identity = new Identity()) {
    this.#policy = policy;
    this.#identity = identity;
    identity.keepFarNodes(policy.farNodes);
    this.#peers = new PeerNames(identity.pods);
    this.limits = new SeriesLimits(policy.limits, policy.monitors);
  }

  /** The node whose series these are. */
  get node(): string {
    return this.#policy.node;
  }

  /** Number of remembered streams, live and ended. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Live streams whose sender names a pod that is not on this node. A process of the node itself names no pod. */
  get unplaced(): number {
    let count = 0;
    for (const { unknown, endedMs, sender } of this.#streams) if (unknown && endedMs === 0 && sender?.namesPod) count++;
    return count;
  }

  /**
   * Takes in all points of a request that `admitMetrics` has admitted. The sample of a stream that is alone in its
   * series is handed out immediately; other samples are handed out by `flush`.
   */
  add(request: MetricsRequest, now: Moment, sink: SampleSink): void {
    for (const { attributes: resource, scopes } of request.resources) {
      for (const { scope, metrics } of scopes) {
        for (const metric of metrics) this.#addMetric(metric, resource, scope.name, now, sink);
      }
    }
  }

  #addMetric(metric: Metric, resource: readonly Attribute[], scope: string, now: Moment, sink: SampleSink): void {
    const name = metricName(metric.name);
    if (!metric.data || name === '' || infoMetrics.has(name)) return;
    if (name.startsWith('ebpf_network_')) this.counts.l4 += metric.data.points.length;
    else if (metric.name.startsWith('http.')) this.counts.http += metric.data.points.length;
    const family = this.table.family(name, familyType(metric.data), metric.description, metric.unit);
    const set = this.#streams.set(resource, scope, metric.name);
    for (let i = 0; i < metric.data.points.length; i++) {
      const expanded = expandPoint(metric, metric.data, i, this.#policy);
      const stream =
        this.#streams.find(set, expanded.point.attributes) ??
        this.#addStream(set, metric.name, family, resource, expanded, now);
      if (stream) this.#apply(stream, expanded, now, sink);
    }
  }

  #addStream(
    set: StreamSet,
    otlpName: string,
    family: Family,
    resource: readonly Attribute[],
    expanded: Expanded,
    now: Moment,
  ): Stream | null {
    const point = expanded.point.attributes;
    const account = accountOf(otlpName, chargedTo(otlpName, resource, point, this.#identity));
    const weight = streamWeight(resource, point);
    const full = this.#shares.exceeded(account, weight, this.#streamBounds());
    if (full) {
      this.counts.refused++;
      this.limitHits[full]++;
      // The stream has no room, but its point proves which pod sends the spans under its Resource.
      if (!isFlow(otlpName)) this.#identity.notePoint(resource, point, this.#identity.point(resource, point), now.mono);
      return null;
    }
    const shape = layoutOf(expanded.shape).shape;
    const values = new Float64Array(expanded.values.length);
    const stream = newStream({
      set,
      otlpName,
      family,
      resource,
      point,
      account,
      weight,
      shape,
      values,
      seenMs: now.mono,
    });
    this.#streams.add(set, stream);
    this.#shares.add(account, weight);
    this.#bind(stream);
    return stream;
  }

  /**
   * The limits of the table of streams: twice the limits of series, because ended streams and streams beyond a limit
   * are remembered for a while.
   */
  #streamBounds(): StreamBounds {
    const { maxSeriesPerNode, maxSeriesPerNamespace } = this.#policy.limits;
    return { node: 2 * maxSeriesPerNode, namespace: 2 * maxSeriesPerNamespace, own: 2 * this.#ownSeries() };
  }

  /**
   * The number of series that each namespace may have even when others have filled the node. All namespaces together
   * get a quarter of the node's limit.
   */
  #ownSeries(): number {
    return Math.floor(this.#policy.limits.maxSeriesPerNode / 4 / (this.#identity.pods.namespaces + 1));
  }

  #apply(stream: Stream, expanded: Expanded, now: Moment, sink: SampleSink): void {
    const { point, shape, values } = expanded;
    if (stream.timeNs !== 0 && point.timeNs <= stream.timeNs) {
      this.counts.late++;
      if (stream.timeNs / 1e6 > now.wall) this.#showBehind(stream, expanded, now);
      return;
    }
    stream.seenMs = now.mono;
    if (point.noValue) {
      this.#touch(stream, point, sink);
      this.#end(stream, { ...now, wall: Math.floor(point.timeNs / 1e6) }, sink);
      return;
    }
    if (!sameShape(shape, stream.shape)) this.#reshape(stream, expanded, now, sink);
    if (stream.endedMs !== 0) this.#revive(stream);
    const first = stream.timeNs === 0;
    const reset = isReset(stream, point, values);
    const tMs = Math.floor(point.timeNs / 1e6);
    this.#touch(stream, point, sink);
    if (first) noteStart(stream, point.startNs, values, tMs, this.#policy.exportIntervalMs);
    if (reset) placeZero(stream, point, values, tMs);
    if (point.exemplars && point.exemplars.length > 0) noteExemplars(stream.series, point.exemplars, this.exemplars);
    if (first || reset || stream.shape.mode !== 'counter' || stream.shape.kind === 'summary') {
      this.#accumulate(stream, { values, first, reset, tMs }, sink);
    } else this.#advance(stream, values, tMs, sink);
    for (const monitor of stream.monitors) monitor.lastSampleAt = now.mono;
    stream.startNs = point.startNs;
    stream.endedMs = 0;
  }

  /**
   * A point that is older than its stream's newest point, whose time is still in the future: the clock of the node was
   * set back. The older point's values are current, so they are shown and the series live on. A sample is handed out
   * only once the clock has caught up, since the store has later samples. A delta is left out: it may have been counted
   * already.
   */
  #showBehind(stream: Stream, expanded: Expanded, now: Moment): void {
    const { point, shape } = expanded;
    stream.seenMs = now.mono;
    if (point.noValue) return;
    for (const monitor of stream.monitors) monitor.lastSampleAt = now.mono;
    if (shape.mode === 'increment' || !sameShape(shape, stream.shape)) return;
    if (stream.endedMs !== 0) this.#revive(stream);
    stream.endedMs = 0;
    countBehind(stream, expanded);
  }

  /** Notes a point's time. A sample of this stream that still waits is handed out first, so that none is lost. */
  #touch(stream: Stream, point: PointBase, sink: SampleSink): void {
    if (stream.timeNs !== 0) stream.gapMs = (point.timeNs - stream.timeNs) / 1e6;
    stream.timeNs = point.timeNs;
    if (stream.window === this.#window) for (const series of stream.series) handOut(series, sink);
    stream.window = this.#window;
  }

  /** The fast path of `#accumulate` for nearly all points: the next values of a cumulative counter or histogram. */
  #advance(stream: Stream, values: readonly number[], tMs: number, sink: SampleSink): void {
    const { series, values: last } = stream;
    for (let i = 0; i < values.length; i++) {
      const before = last[i]!;
      const s = series[i];
      const value = keptUp(s, values[i]!, before);
      last[i] = value;
      if (!s) continue;
      if (s.merged || s.intervalMs > 0 || s.pendingMs !== 0 || s.zeroMs !== 0) {
        this.#add(s, value, addend(value - before), tMs, false, sink);
        continue;
      }
      s.total = value;
      s.lastMs = tMs;
      s.skippedMs = 0;
      sink.append(s, tMs, value);
    }
  }

  /**
   * Adds a point to the stream's series. A series that only this stream feeds hands its sample out immediately. Shared
   * series, and those of a new stream, which others may join, wait for `flush`, so that a series has one sample per
   * window.
   */
  #accumulate(
    stream: Stream,
    { values, first, reset, tMs }: { values: readonly number[]; first: boolean; reset: boolean; tMs: number },
    sink: SampleSink,
  ): void {
    const { series, values: last } = stream;
    const components = series.length;
    for (let i = 0; i < values.length; i++) {
      let value = values[i]!;
      const before = last[i]!;
      let increment: number;
      const mode = components > 0 ? series[i]!.component.mode : stream.shape.mode;
      if (mode === 'increment') {
        increment = addend(value);
        value = before + value;
      } else {
        if (mode === 'counter' && !reset) value = keptUp(series[i], value, before);
        increment = incrementOf(mode, value, before, reset);
      }
      last[i] = value;
      if (components > 0) this.#add(series[i]!, value, increment, tMs, first, sink);
    }
  }

  #add(s: Series, value: number, increment: number, tMs: number, first: boolean, sink: SampleSink): void {
    s.total = s.merged ? s.total + increment : value;
    const at = s.merged && tMs <= s.lastMs ? s.lastMs + 1 : tMs;
    const waits = first || s.merged;
    if (waits && s.pendingMs === 0) this.#touched.push(s);
    if (at > s.pendingMs) s.pendingMs = at;
    if (!waits) handOut(s, sink);
  }

  /** Hands out one sample of every series touched since the last call. Returns their number. */
  flush(sink: SampleSink): number {
    const touched = this.#touched;
    this.#touched = [];
    this.#window++;
    let samples = 0;
    for (const series of touched) samples += handOut(series, sink);
    return samples;
  }

  /** Ends the series of streams that have been silent too long, and removes streams that ended long ago. */
  expire(now: Moment, sink: SampleSink): void {
    for (const stream of this.#streams) {
      const silence = now.mono - stream.seenMs;
      const limit = silenceLimit(stream, this.#policy.exportIntervalMs);
      if (stream.sender?.forged) this.#notePoint(stream);
      if (stream.endedMs === 0) {
        if (silence > limit) this.#end(stream, now, sink);
      } else if (silence > rememberedMs(limit)) this.#forget(stream);
    }
    this.#pace.settle(this.#streams);
  }

  #forget(stream: Stream): void {
    this.#peers.release(stream);
    this.#shares.remove(stream.account, stream.weight);
    this.#streams.delete(stream);
  }

  /** Applies new rules and limits immediately. Counters do not reset: series whose labels stay keep their sums. */
  setPolicy(policy: MappingPolicy, now: Moment, sink: SampleSink): void {
    this.flush(sink);
    this.#policy = policy;
    this.#identity.keepFarNodes(policy.farNodes);
    this.#made = new ResourceLabels();
    this.limits.reset(policy.limits, policy.monitors);
    const left = new Set<Group>();
    const charged = new Set<Stream['group']>();
    for (const stream of this.#streams) {
      if (stream.endedMs !== 0) continue;
      this.#rebind(stream, left, charged);
    }
    this.#pace.settle(this.#streams);
    for (const group of left) {
      // `limits.reset` has cleared the counts, and only groups to which a stream was bound again are counted again. The
      // series of other groups must not be subtracted.
      if (!charged.has(group)) group.charge = { add: () => {}, exceeded: () => null };
      for (const gone of this.table.prune(group)) sink.stale(gone, Math.max(now.wall, gone.lastMs + 1));
    }
  }

  /** Re-binds the streams whose pod became known or changed. Returns their number. */
  refreshIdentity(now: Moment, sink: SampleSink): number {
    const { version } = this.#identity.pods;
    if (version === this.#identityVersion) return 0;
    this.#identityVersion = version;
    this.flush(sink);
    const left = new Set<Group>();
    let moved = 0;
    for (const stream of this.#streams) {
      if (stream.endedMs !== 0) continue;
      const same = isFlow(stream.otlpName)
        ? this.#identity.flow(stream.point) === stream.flow
        : this.#identity.point(stream.resource, stream.point) === stream.sender;
      // A sender that is unknown so far may be proven only now. The rules of TCP statistics depend on all pods of the
      // workload at an end.
      if (same && !stream.unknown && metricFamily(stream.otlpName) !== 'TCPStats') continue;
      this.#rebind(stream, left);
      moved++;
    }
    for (const group of left) {
      for (const gone of this.table.prune(group)) sink.stale(gone, Math.max(now.wall, gone.lastMs + 1));
    }
    return moved;
  }

  #rebind(stream: Stream, left: Set<Group>, charged?: Set<Stream['group']>): void {
    const { group, series } = stream;
    this.#bind(stream, charged);
    if (stream.group === group) return;
    if (group) left.add(group);
    this.#release(stream, series);
    this.#bringAlong(stream);
  }

  /**
   * Finds the series that a stream feeds under the present rules and limits. `renewed` is given while all streams are
   * bound again: it contains the groups to which one of them has been bound so far.
   */
  #bind(stream: Stream, renewed?: Set<Stream['group']>): void {
    const subject = this.#subjectOf(stream);
    const { namespace, pod, container, valueOf, charged: namespaces } = subject;
    const port = servedPort(stream.otlpName, valueOf('server.port'));
    const ofPod = this.limits.monitorsOf(namespace, pod?.name ?? '');
    const covers = ({ rule }: MonitorCounts): boolean => coversSender(rule, container, port);
    // One list for all streams of a pod, as long as its monitors do not distinguish them.
    const monitors = ofPod.every(covers) ? ofPod : ofPod.filter(covers);
    const { fallback } = this.#policy;
    const podRules = monitors.length > 0 ? monitors.map((m) => m.rule) : fallbackRules(fallback, namespace);
    const rules = isFlow(stream.otlpName)
      ? flowRules(stream.otlpName, subject, { fallback, limits: this.limits, pods: this.#identity.pods })
      : streamRules(podRules, {
          family: metricFamily(stream.otlpName),
          protocol: metricProtocol(stream.otlpName, valueOf),
          paths: [valueOf('url.path'), valueOf('http.route')].filter((path) => path !== ''),
        });
    const before = stream.group;
    const scopeBefore = stream.scope;
    if (scopeBefore) this.#forgetLimit(stream);
    stream.monitors = monitors;
    stream.intervalMs = rules.intervalMs;
    if (!rules.keep) return this.#feed(stream, null, before);
    const base = subjectLabels(stream, subject, rules, this.#policy, this.#peers, this.#made);
    const { name, type, help, unit } = stream.family;
    stream.family = this.table.family(name, type, help, unit);
    const layout = layoutOf(stream.shape);
    const size = layout.components.length;
    let group: Stream['group'] = this.table.group(stream.family, base) ?? null;
    const isNew = !group || (renewed !== undefined && !renewed.has(group));
    // Streams of equal labels may have different bounds, so that a known group may get more series.
    const missing = group ? this.table.missing(group, layout) : size;
    const count = missing + (isNew && group ? group.series.length : 0);
    const charged: Charged = { namespaces, monitors, isFlow: isFlow(stream.otlpName) };
    const own = this.#ownSeries();
    let scope = count > 0 ? this.limits.exceeded(charged, count, own) : null;
    // New series count for the sender that made the group, which may be another than this stream's.
    if (count > 0 && group && !isNew) scope ??= group.charge.exceeded(count, own);
    if (scope) {
      this.#noteLimit(stream, scope, size, scopeBefore);
      group = this.#overflowGroup(stream, { base, namespaces, scope, size }, renewed);
    } else if (!group) {
      group = this.table.addGroup(stream.family, base, this.limits.charge(charged));
      renewed?.add(group);
    } else if (isNew) {
      group.charge = this.limits.charge(charged);
      group.charge.add(group.series.length);
      renewed?.add(group);
    }
    this.#feed(stream, group, before);
  }

  /** The sender of the stream, as far as it is known by now; counts attributes that were found false. */
  #subjectOf(stream: Stream): StreamSubject {
    const first = stream.sender === null && stream.flow === null;
    const subject = streamSubject(stream, this.#identity);
    const flow = isFlow(stream.otlpName);
    if (first && stream.unknown) this.counts[flow ? 'unknownFlows' : 'unknownPods']++;
    if (first && stream.unknown && stream.sender?.namesPod && this.#identity.pods.synced) this.strangers++;
    if (first && (stream.sender?.contradicts || stream.flow?.contradicts)) {
      this.counts.contradicted++;
      if (stream.sender?.pod) this.lastContradiction = `${stream.sender.pod.namespace}/${stream.sender.pod.name}`;
    }
    this.#notePoint(stream);
    const account = accountOf(stream.otlpName, subject.charged);
    if (account !== stream.account) {
      this.#shares.remove(stream.account, stream.weight);
      this.#shares.add(account, stream.weight);
      stream.account = account;
    }
    return subject;
  }

  #notePoint({ resource, point, sender, seenMs }: Stream): void {
    if (sender) this.#identity.notePoint(resource, point, sender, seenMs);
  }

  /** Notes that a stream is beyond a limit. It counts as a hit unless it was beyond the same limit before. */
  #noteLimit(stream: Stream, scope: LimitScope, size: number, scopeBefore: LimitScope | null): void {
    stream.scope = scope;
    if (scope !== scopeBefore) this.limitHits[scope] += size;
    for (const monitor of stream.monitors) monitor.droppedSeries += size;
  }

  #forgetLimit(stream: Stream): void {
    for (const monitor of stream.monitors) {
      monitor.droppedSeries -= stream.series.length || stream.values.length;
    }
    stream.scope = null;
  }

  #overflowGroup(
    stream: Stream,
    { base, namespaces, scope, size }: Beyond,
    charged?: Set<Stream['group']>,
  ): Stream['group'] {
    if (this.limits.onLimit === 'Drop') return null;
    const labels = overflowLabels(base, scope);
    const known = this.table.group(stream.family, labels);
    if (known) {
      if (charged && !charged.has(known)) {
        known.charge = this.limits.overflowCharge(namespaces);
        known.charge.add(known.series.length);
        charged.add(known);
      }
      const missing = this.table.missing(known, layoutOf(stream.shape));
      if (missing === 0) return known;
      // They count for the namespace that made the group. Overflow series of the node serve all namespaces.
      const isFull = known.charge.exceeded(missing, this.#ownSeries()) !== null;
      return !isFull && this.limits.mayOverflow(namespaces, missing) ? known : null;
    }
    if (!this.limits.mayOverflow(namespaces, size)) return null;
    const made = this.table.addGroup(stream.family, labels, this.limits.overflowCharge(namespaces));
    charged?.add(made);
    return made;
  }

  #feed(stream: Stream, group: Stream['group'], before: Stream['group']): void {
    if (group && group === before) return this.#pace.join(stream);
    stream.group = group;
    stream.series = group ? this.table.bind(group, layoutOf(stream.shape)) : [];
    for (const series of stream.series) {
      series.streams++;
      if (series.streams === 1 || series.merged) continue;
      series.merged = true;
      series.total = addend(series.total);
    }
    this.#pace.join(stream);
  }

  /**
   * After a move, a new series starts with all that its streams have counted; an existing one continues from its sum.
   */
  #bringAlong(stream: Stream): void {
    stream.series.forEach((series, i) => {
      if (series.component.mode !== 'level' && series.lastMs !== 0) return;
      const value = stream.values[i]!;
      series.total = series.merged ? series.total + addend(value) : value;
    });
    const tMs = Math.floor(stream.timeNs / 1e6);
    noteStart(stream, stream.startNs, stream.values, tMs, this.#policy.exportIntervalMs);
  }

  #release(stream: Stream, series: readonly Series[]): void {
    series.forEach((s, i) => {
      s.streams--;
      if (s.component.mode === 'level' && s.merged) s.total -= addend(stream.values[i]!);
    });
  }

  #end(stream: Stream, now: Moment, sink: SampleSink): void {
    const { group, series } = stream;
    for (const s of series) {
      handOut(s, sink);
      handOutSkipped(s, sink);
    }
    this.#release(stream, series);
    if (stream.scope) this.#forgetLimit(stream);
    stream.group = null;
    stream.series = [];
    stream.scope = null;
    stream.endedMs = now.wall;
    if (group) for (const gone of this.table.prune(group)) sink.stale(gone, Math.max(now.wall, gone.lastMs + 1));
  }

  #revive(stream: Stream): void {
    this.#bind(stream);
    for (const [i, series] of stream.series.entries()) {
      const value = stream.values[i]!;
      if (!series.merged) series.total = value;
      else if (series.component.mode === 'level') series.total += addend(value);
      // A recreated series does not know when it ended; the stream does.
      if (series.lastMs === 0) series.lastMs = stream.endedMs;
    }
  }

  /** A stream whose buckets changed (new bounds, another temporality) gets new series, except those that others feed. */
  #reshape(stream: Stream, expanded: Expanded, now: Moment, sink: SampleSink): void {
    const at = { ...now, wall: Math.floor(expanded.point.timeNs / 1e6) - 1 };
    const hadEnded = stream.endedMs !== 0;
    if (!hadEnded) this.#end(stream, at, sink);
    const before = { shape: stream.shape, values: stream.values, hadEnded };
    stream.shape = layoutOf(expanded.shape).shape;
    stream.timeNs = 0;
    this.#bind(stream);
    stream.values = countedSoFar(before, stream, expanded.values);
    stream.endedMs = 0;
  }
}
