import { encodeFrame } from '../../base/wire/frames.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { DictionaryWriter } from '../partial/dictionary.ts';
import type { IndexHeader, IndexLists } from './answer.ts';
import { writeHeader, writeTrailer } from './index.pb.ts';

/** A frame is closed at about this size. Units: bytes. */
const frameBytes = 128 * 1024;

/**
 * The answer of an agent to a request for label names, label values or series, as frames: a header; then the names or
 * values (texts), or the series (label sets) with their dictionaries of strings; then a trailer. Each message has one
 * field, whose number is its type (1 header, 2 dictionary, 3 series, 4 texts, 5 trailer). A dictionary precedes the
 * series that use it.
 */
export function* encodeIndexAnswer(header: IndexHeader, { texts, series }: IndexLists): Generator<Uint8Array> {
  yield encodeFrame(new WireWriter().message(1, (m) => writeHeader(m, header)).finish());
  const list = new WireWriter(1024);
  const head = new WireWriter(16);
  const framed = (field: number): Uint8Array => {
    const frame = encodeFrame(head.reset().key(field, 2).rawVarint(list.length).finish(), list.finish());
    list.reset();
    return frame;
  };
  for (const text of texts) {
    list.string(1, text);
    if (list.length > frameBytes) yield framed(4);
  }
  if (list.length > 0) yield framed(4);
  const dictionary = new DictionaryWriter();
  const fresh = function* (): Generator<Uint8Array> {
    const unsent = dictionary.takeFresh();
    if (unsent.length === 0) return;
    yield encodeFrame(new WireWriter(1024).message(2, (m) => unsent.forEach((text) => m.string(1, text))).finish());
  };
  for (const labels of series) {
    dictionary.write(list, 1, labels);
    if (list.length <= frameBytes) continue;
    yield* fresh();
    yield framed(3);
  }
  if (list.length > 0) {
    yield* fresh();
    yield framed(3);
  }
  const count = texts.length + series.length;
  yield encodeFrame(new WireWriter().message(5, (m) => writeTrailer(m, { count })).finish());
}
