/** Monitors, policies and minters with their conditions. */
import type { JSX } from 'preact';
import { objects, type ObjectItem, type ObjectKind } from '../api/page.ts';
import { Empty, Note, Shown } from '../parts/states.tsx';
import { addressOf, type Place } from '../state/place.ts';
import { useAnswer } from '../state/use-answer.ts';
import { lookOf } from './condition-look.ts';

const kinds: readonly (readonly [ObjectKind, string])[] = [
  ['TrafficMonitor', 'Monitors'],
  ['ClusterTrafficPolicy', 'Policies'],
  ['MinterDeployment', 'Minters'],
];

export function ObjectsView({ place }: { place: Place }): JSX.Element {
  const kind = kinds.find(([each]) => each === place.params.get('kind'))?.[0] ?? 'TrafficMonitor';
  const asked = useAnswer(`objects ${kind}`, (signal) => objects(kind, { signal }), { everyMs: 15_000 });
  return (
    <>
      <nav class="row tools" aria-label="Kinds">
        {kinds.map(([each, title]) => (
          <a key={each} href={addressOf('objects', { kind: each })} aria-current={each === kind ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <Shown asked={asked} what={kind}>
        {({ items, forbidden }) => (
          <>
            {forbidden ? (
              <Note kind="warn" title="You may not see all of these; those you may not see are absent." />
            ) : null}
            {items.length === 0 ? (
              <Empty title={`No ${kind} is there`}>{forbidden ? '' : 'Create one with kubectl.'}</Empty>
            ) : null}
            {items.map((item) => (
              <ObjectCard key={`${item.metadata.namespace}/${item.metadata.name}`} item={item} />
            ))}
          </>
        )}
      </Shown>
    </>
  );
}

/** An entry of a status' `conflicts`: another object decides these fields. */
interface Conflict {
  readonly with?: string;
  readonly fields?: readonly string[];
  readonly resolution?: string;
}

function ObjectCard({ item: { metadata, spec, conditions, status } }: { item: ObjectItem }): JSX.Element {
  const conflicts = Array.isArray(status['conflicts']) ? (status['conflicts'] as readonly Conflict[]) : [];
  return (
    <section class="panel" aria-label={metadata.name}>
      <h2>
        {metadata.namespace ? <span class="quiet">{metadata.namespace}/</span> : null}
        {metadata.name}
      </h2>
      {conditions.length === 0 ? <p class="quiet">No conditions yet: the operator has not seen it.</p> : null}
      <dl>
        {conditions.map((one) => {
          const { sign, kind } = lookOf(one);
          return (
            <>
              <dt class={kind === 'bad' ? 'tag bad' : ''}>
                {sign} {one.type}={one.status}
              </dt>
              <dd>
                {one.reason}: {one.message}
              </dd>
            </>
          );
        })}
      </dl>
      {conflicts.length === 0 ? null : (
        <ul class="conflicts" aria-label="Conflicts">
          {conflicts.map(({ with: other, fields = [], resolution }) => (
            <li key={other}>
              ▲ {fields.join(', ')}: {other} decides <span class="quiet">({resolution})</span>
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>Spec and status</summary>
        <pre>{JSON.stringify({ spec, status }, null, 2)}</pre>
      </details>
    </section>
  );
}
