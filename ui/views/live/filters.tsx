/** The filters of the live spans and flows. Each is a parameter of the URL; the agents on the nodes apply them. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Protocol } from '../../../src/stream/span-protocol.ts';
import type { LiveFilter, LiveParam } from '../../state/live-filter.ts';
import { setParams } from '../../state/router.ts';

const texts: readonly (readonly [LiveParam, string, string])[] = [
  ['ns', 'Namespace', 'shop, pay'],
  ['workload', 'Workload', 'checkout, deployment/cart'],
  ['status', 'Status', '404, 5+, 400-499, error'],
  ['path', 'Path', '/cart/.*'],
  ['min', 'At least', '100ms'],
  ['node', 'Node', 'node-1'],
  ['trace', 'Trace', '32 hex digits'],
];
const types = [
  ['', 'spans and flows'],
  ['span', 'spans'],
  ['flow', 'flows'],
] as const;
const protocols: readonly (Protocol | 'TCP' | 'UDP')[] = [
  ...(['HTTP', 'GRPC', 'SQL', 'Redis', 'Kafka', 'MQTT', 'NATS', 'AMQP', 'Mongo', 'DNS'] as const),
  ...(['Couchbase', 'Memcached', 'GenAI', 'TCP', 'UDP'] as const),
];

/** A field is applied on blur or Enter: applying each letter would restart the stream. */
export function LiveFilters({ filter }: { filter: LiveFilter }): JSX.Element {
  const used = Object.values(filter).filter((text) => text !== '').length;
  const [open] = useState(() => used > 0 || matchMedia('(min-width: 641px)').matches);
  const others = filter.protocol === '' || protocols.some((name) => name === filter.protocol) ? [] : [filter.protocol];
  return (
    <details class="filters" open={open}>
      <summary>Filters ({used})</summary>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          const fields = new FormData(event.currentTarget);
          setParams(Object.fromEntries(texts.map(([name]) => [name, String(fields.get(name) ?? '').trim()])));
        }}
      >
        <label>
          Show
          <select value={filter.type} onChange={(event) => setParams({ type: event.currentTarget.value })}>
            {types.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Protocol
          <select value={filter.protocol} onChange={(event) => setParams({ protocol: event.currentTarget.value })}>
            <option value="">any</option>
            {[...others, ...protocols].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {texts.map(([name, title, example]) => (
          <label key={name}>
            {title}
            <input
              name={name}
              value={filter[name]}
              placeholder={example}
              autocomplete="off"
              spellcheck={false}
              onChange={(event) => setParams({ [name]: event.currentTarget.value.trim() })}
            />
          </label>
        ))}
        <div class="row">
          <button type="submit">Apply</button>
          <a href="live">Clear</a>
        </div>
      </form>
    </details>
  );
}
