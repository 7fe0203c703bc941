import { WireWriter } from '../../../base/wire/protobuf-wire.ts';
import type { Labels } from '../../../tsdb/index.ts';
import { exemplarLabels } from './exemplar-labels.ts';
import { metricTypes } from './remote-write-1.ts';
import { writeSamples } from './samples.ts';
import type { SeriesSamples } from './with-labels.ts';

/**
 * Encodes an `io.prometheus.write.v2.Request`. It has each string once, in a symbol table whose first member is empty.
 * Source: Prometheus Remote-Write 2.0.
 */
export function encodeWrite2(series: readonly SeriesSamples[]): Uint8Array {
  const symbols = new Map([['', 0]]);
  const symbol = (text: string): number => {
    let at = symbols.get(text);
    if (at === undefined) symbols.set(text, (at = symbols.size));
    return at;
  };
  const symbolsOf = (labels: Labels): Uint8Array => {
    const refs = new WireWriter(4 * labels.length);
    for (const [name, value] of labels) refs.rawVarint(symbol(name)).rawVarint(symbol(value));
    return refs.finish();
  };
  const body = new WireWriter(64 * 1024);
  for (const { labels, samples, series: one } of series) {
    body.message(5, (ts) => {
      ts.bytes(1, symbolsOf(labels));
      writeSamples(ts, samples, 4, (w, exemplar) => void w.bytes(1, symbolsOf(exemplarLabels(exemplar))));
      const { type, help, unit } = one.meta;
      ts.message(5, (w) => w.uint(1, metricTypes[type]).uint(3, symbol(help)).uint(4, symbol(unit)));
    });
  }
  const out = new WireWriter(body.length + 4_096);
  for (const text of symbols.keys()) out.string(4, text);
  return out.raw(body.finish()).finish();
}
