/** Everything known about one span or flow, with links to related views. */
import type { JSX } from 'preact';
import { endText } from '../../../src/stream/item-text.ts';
import type { FlowEnd, FlowRecord, SpanRecord, StreamMessage } from '../../api/stream.ts';
import { Details } from '../../parts/details.tsx';
import { PromqlLink } from '../../parts/promql-link.tsx';
import { signs } from '../../parts/level.ts';
import { addressOf } from '../../state/place.ts';
import { queriesOfFlow, queriesOfSpan } from './item-queries.ts';
import { wordsOf } from './item-words.ts';

export interface ItemDetailsProps {
  readonly id: number | string;
  readonly message: StreamMessage;
  readonly close: () => void;
}

export function ItemDetails({ id, message, close }: ItemDetailsProps): JSX.Element {
  const { span, flow, node, time } = message;
  const words = wordsOf(message);
  const facts = span ? factsOfSpan(span) : factsOfFlow(flow!);
  const queries = span ? queriesOfSpan(span) : queriesOfFlow(flow!);
  const attributes = Object.entries((span ?? flow)!.attributes);
  return (
    <Details
      of={id}
      label={span ? 'Chosen span' : 'Chosen flow'}
      title={words.what}
      class="item"
      isChosenHere
      close={close}
    >
      <dl>
        <Fact name="From" text={words.from} />
        <Fact name="To" text={words.to} />
        <Fact name="Outcome" text={`${signs[words.level]} ${words.outcome}`.trim()} />
        <Fact name={span ? 'Duration' : 'Bytes'} text={words.size} />
        <Fact name={span ? 'Began' : 'Counted until'} text={time} />
        <Fact name="Seen by" text={node} />
        {facts.map(([name, text]) => (
          <Fact key={name} name={name} text={text} />
        ))}
      </dl>
      {span ? <SpanLinks span={span} /> : null}
      {queries.map(({ title, expr }) => (
        <PromqlLink key={title} title={title} expr={expr} />
      ))}
      <h3>Attributes ({attributes.length})</h3>
      <dl class="attributes mono">
        {attributes.map(([name, value]) => (
          <Fact key={name} name={name} text={typeof value === 'string' ? value : JSON.stringify(value)} />
        ))}
      </dl>
    </Details>
  );
}

function Fact({ name, text }: { name: string; text: string | undefined }): JSX.Element | null {
  if (!text) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </>
  );
}

function SpanLinks({ span: { traceId, namespace, workload, peer } }: { span: SpanRecord }): JSX.Element {
  const ends = [{ namespace, workload }, peer ?? {}].flatMap(({ namespace: ns, workload: of }) =>
    ns && of ? [{ ns, ...of }] : [],
  );
  return (
    <ul class="links">
      <li>
        <a href={addressOf('live', { trace: traceId })}>The whole trace</a>
      </li>
      {ends.map(({ ns, kind, name }) => (
        <li key={`${ns}/${kind}/${name}`}>
          <a href={addressOf('service', { ns, name, kind })}>
            Service {ns}/{name}
          </a>{' '}
          · <a href={addressOf('live', { ns, workload: `${kind}/${name}` })}>its spans</a>
        </li>
      ))}
    </ul>
  );
}

type Facts = readonly (readonly [string, string | undefined])[];

function factsOfSpan(span: SpanRecord): Facts {
  return [
    ['Route', span.route],
    ['Kind', span.kind],
    ['Status', span.statusMessage],
    ['Trace', span.traceId],
    ['Span', span.spanId],
    ['Parent', span.parentSpanId],
    ['Pod', span.pod && `${span.namespace ?? '?'}/${span.pod}`],
    ['Container', span.container],
    ['Workload', span.workload && `${span.workload.kind} ${span.workload.name}`],
    ['Other end', span.peer && factsOfEnd(span.peer)],
  ];
}

const factsOfFlow = ({ source, destination }: FlowRecord): Facts => [
  ['Source', factsOfEnd(source)],
  ['Destination', factsOfEnd(destination)],
];

function factsOfEnd(end: FlowEnd): string {
  const { workload, node, address, zone, cidr } = end;
  const owner = workload && `${workload.kind} ${workload.name}`;
  return [...new Set([endText(end), owner, node && `on ${node}`, address, zone, cidr])].filter(Boolean).join(', ');
}
