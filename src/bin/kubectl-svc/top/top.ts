import { coreResources } from '../../../api/core-resources.ts';
import type { ObjectMeta } from '../../../api/meta.ts';
import { ownerBehind } from '../../../capture/index.ts';
import { listAll } from '../../../kube/reads.ts';
import { queryLimits } from '../../../promql/index.ts';
import { type ApiAnswer, askVector, lacking } from '../connect/prometheus.ts';
import { UsageError } from '../errors.ts';
import { json } from '../output/print.ts';
import { durationFlag } from '../query/times.ts';
import type { Session } from '../session.ts';
import { type TopKind, topKinds } from './kinds.ts';
import { noWorkload, rowsOf, sorted, type TopRow } from './rows.ts';
import type { TopFlags, TopKindName } from './top-flags.ts';
import { topQuery, type Selected, type TopScope } from './top-query.ts';
import { topTable } from './top-table.ts';
import { watch } from './watch.ts';

/** The result of one query. */
interface Look {
  readonly scope: TopScope;
  readonly rows: readonly TopRow[];
  readonly answer: Omit<ApiAnswer, 'data' | 'text'>;
}

const nothingAsked: Look['answer'] = { warnings: [], infos: [], degraded: false, missingNodes: [], explain: undefined };

/** Shows the objects that served requests; with `--watch` repeatedly. Errors: UsageError, those of the query server. */
export async function top(session: Session, kindName: TopKindName, flags: TopFlags): Promise<void> {
  const kind = topKinds[kindName];
  const windowMs = durationFlag(flags.window, '--window');
  const intervalMs = durationFlag(flags.interval, '--interval');
  const limit = Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 0) throw new UsageError(`--limit ${flags.limit}: a whole number is needed`);
  const namespace = kind.namespaced ? await session.namespace() : undefined;
  const look = async (): Promise<Look> => {
    const { selector } = flags;
    const objects = selector === undefined ? undefined : await selectedObjects(session, kind, namespace, selector);
    const selected = objects && selectedBy(objects);
    const scope: TopScope = { kind, namespace, selected, windowMs, wide: flags.output !== 'table' };
    if (objects?.length === 0) return { scope, rows: [], answer: nothingAsked };
    const server = await session.connect();
    const answer = await askVector(server, queryWithin(scope, flags), session.signal);
    const found = rowsOf(kind, answer.data.result);
    const rows = sorted(objects ? ofObjects(kind, found, objects) : found, flags.sortBy);
    return { scope, answer, rows: limit === 0 ? rows : rows.slice(0, limit) };
  };
  if (flags.watch) {
    return watch(session, intervalMs, async () => {
      const seen = await look();
      return { text: shown(session, seen, flags), notes: notes(seen).map((note) => `warning: ${note}`) };
    });
  }
  const seen = await look();
  session.stdout.write(shown(session, seen, flags));
  for (const note of notes(seen)) session.warn(note);
  if (seen.rows.length === 0 && flags.output !== 'json') session.stderr.write(`${nothing(seen, flags)}\n`);
}

function shown(session: Session, { scope, rows, answer }: Look, flags: TopFlags): string {
  if (flags.output === 'json') {
    const { degraded, missingNodes, warnings } = answer;
    return json({
      kind: scope.kind.name,
      windowSeconds: scope.windowMs / 1000,
      items: rows,
      degraded,
      missingNodes,
      warnings,
    });
  }
  if (rows.length === 0) return '';
  return topTable(rows, {
    namespaces: scope.kind.namespaced && scope.namespace === undefined,
    wide: scope.wide,
    headers: flags.headers,
    style: session.style,
  });
}

/** What the numbers of the table lack, as warnings. */
function notes({ scope: { kind }, rows, answer: { warnings, degraded, missingNodes } }: Look): string[] {
  const known = rows.some((row) => row.inBytesPerSecond !== undefined || row.outBytesPerSecond !== undefined);
  const unknown = rows.length > 0 && kind.flows.length > 0 && !known;
  return [...warnings, ...(degraded ? [lacking(missingNodes)] : []), ...(unknown ? [noFlows] : [])];
}

const noFlows =
  'bytes in and out are unknown: no flows of these are captured (network.enabled of a ClusterTrafficPolicy)';

function nothing({ scope: { kind, namespace } }: Look, { selector, window }: TopFlags): string {
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const which = selector === undefined ? '' : ` with labels ${selector}`;
  const hint = namespace === undefined ? 'kubectl svc status' : '-A looks at all namespaces';
  return `no ${kind.name}${which} served a request${where} in the last ${window} (${hint})`;
}

/**
 * The query, without the names of the objects if it would be too long with them and the rows are those objects.
 * Errors: UsageError if it is too long and the rows are others.
 */
function queryWithin(scope: TopScope, { selector }: TopFlags): string {
  const query = topQuery(scope);
  if (query.length <= queryLimits.textLength) return query;
  if (listsSelected(scope.kind)) return topQuery({ ...scope, selected: undefined });
  throw new UsageError(
    `-l ${selector} selects ${scope.selected?.names.length} pods: too many for one query of ${scope.kind.name}`,
    `narrow it, with -n or another label, or list the pods: kubectl svc top pods -l ${selector}`,
  );
}

function selectedBy(objects: readonly ObjectMeta[]): Selected {
  return {
    names: objects.map(({ name = '' }) => name),
    owners: [...new Set(objects.flatMap((object) => workloadOf(object)?.name ?? []))],
  };
}

/** A pod's workload as flows have it; undefined for a pod without one. */
function workloadOf({ namespace = '', labels = {}, ownerReferences = [] }: ObjectMeta): Identity | undefined {
  const owner = ownerReferences.find(({ controller }) => controller);
  if (!owner) return undefined;
  const behind = ownerBehind(owner, labels);
  const { kind, name } = behind?.kind === 'Deployment' ? behind : owner;
  return { namespace, kind, name };
}

/** Whether the rows are the objects that `-l` selects, rather than others to which these belong. */
const listsSelected = ({ by, selected }: TopKind): boolean => by.includes(selected.label);

/** What tells objects apart: several namespaces may have one name. */
interface Identity extends Pick<ObjectMeta, 'namespace' | 'name'> {
  readonly kind?: string;
}

const keyOf = ({ namespace = '', kind = '', name = '' }: Identity): string => `${namespace}/${kind}/${name}`;

/**
 * The rows of these objects, or of their workloads. Which Services pods belong to is not known, nor whether pods have no
 * workload: these rows stay, of the objects' namespaces.
 */
function ofObjects({ name: shown }: TopKind, rows: readonly TopRow[], objects: readonly ObjectMeta[]): TopRow[] {
  const own = shown === 'workloads' ? objects.flatMap((object) => workloadOf(object) ?? []) : objects;
  const selected = new Set(own.map(keyOf));
  const namespaces = new Set(objects.map(({ namespace = '' }) => namespace));
  return rows.filter((row) =>
    shown === 'services' || row.kind === noWorkload ? namespaces.has(row.namespace ?? '') : selected.has(keyOf(row)),
  );
}

/** The objects that a label selector matches: pods of the namespace, or nodes, or namespaces. */
async function selectedObjects(
  session: Session,
  { selected }: TopKind,
  namespace: string | undefined,
  labelSelector: string,
): Promise<ObjectMeta[]> {
  const { items } = await listAll(await session.kube(), coreResources[selected.kind], {
    labelSelector,
    ...(selected.kind === 'pods' && namespace !== undefined ? { namespace } : {}),
    metadataOnly: true,
    signal: session.signal,
  });
  return items.map(({ metadata }) => metadata);
}
