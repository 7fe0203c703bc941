import type { OperatorError } from '../../base/errors.ts';
import { WireReader } from '../../base/wire/protobuf-wire.ts';
import type { Column } from '../eval/columns.ts';
import type { GroupRow } from '../eval/aggregate/group-rows.ts';
import type { FragmentRequest, FragmentResult } from '../plan/fragment.ts';
import type { Labels } from '../types.ts';
import { annotationOf } from './annotation-message.ts';
import type { PartialHeader, PartialStats } from './answer.ts';
import { DictionaryReader } from './dictionary.ts';
import { DistinctLabels } from './distinct-labels.ts';
import { LabelPool } from './label-pool.ts';
import { eachOf, listBytes, oneContent } from './messages.ts';
import { counts, malformed, readDoubles } from './numbers.ts';
import * as messages from './partial.pb.ts';
import { type GroupHold, type Hold, readColumn, readGroup } from './rows.ts';

/** Most bytes of a header. */
const headerBytes = 64 * 1024;
/**
 * As `listBytes`, of a dictionary: writers count the characters of its texts, of which each may take up to three bytes,
 * and each text a few more.
 */
const dictionaryBytes = 4 * 1024 * 1024;
/** Most bytes of a trailer's annotations and warnings. */
const notesBytes = 4 * 1024 * 1024;
/** Size of an annotation. Units: bytes. */
const noteBytes = 256;

/** The query server's expectations of an answer. */
export interface ExpectedPartial {
  readonly fragment: FragmentRequest;
  /** Number of steps that the query server has requested. */
  readonly steps: number;
  readonly maxSeries: number;
  /**
   * Shared by all agents' answers to one fragment, the part of a query that agents evaluate. Default: a pool of its
   * own.
   */
  readonly pool?: LabelPool;
  /** Checks the header before any row is read; throws to refuse the rest. */
  readonly onHeader: (header: PartialHeader) => void;
  /** Checks the labels of each column; throws to refuse it. */
  readonly onColumn: (column: Column) => void;
  /** Called before memory is taken; throws to refuse. Units: bytes. */
  readonly hold?: Hold;
}

/** A whole answer. */
export interface WholePartial {
  readonly header: PartialHeader;
  readonly result: FragmentResult;
  readonly stats: PartialStats;
  /** The memory taken for each of the result's groups, without its native histograms. Units: bytes. */
  readonly groupBytes: readonly number[];
}

/**
 * Reads a partial answer message by message.
 * Guarantees: the result of `finish` is validated as a whole: order of the messages, shape of every row, distinct
 * labels, the number of rows in the trailer. Without a trailer there is no answer.
 * Errors: ERR_INPUT_INVALID.
 */
export class PartialDecoder {
  readonly #expected: ExpectedPartial;
  readonly #hold: Hold;
  readonly #groupHold: GroupHold;
  readonly #dictionary: DictionaryReader;
  readonly #columns: Column[] = [];
  readonly #groups: GroupRow[] = [];
  readonly #groupBytes: number[] = [];
  /** The memory taken for the group that is being read. */
  #bytes = 0;
  /** Label sets of the series so far; separately, those of series whose name is still to be removed. */
  readonly #series = [new DistinctLabels(), new DistinctLabels()] as const;
  /** Label sets of groups: the pool returns equal ones as one object. */
  readonly #met = new Set<Labels>();
  #header: PartialHeader | undefined;
  #trailer: Trailer | undefined;

  constructor(expected: ExpectedPartial) {
    this.#expected = expected;
    const { hold = (): void => {}, pool = new LabelPool() } = expected;
    this.#hold = hold;
    const state = (bytes: number): void => {
      hold(bytes);
      this.#bytes += bytes;
    };
    this.#groupHold = { state, histograms: hold };
    this.#dictionary = new DictionaryReader(pool, hold);
  }

  add(message: Uint8Array): void {
    if (this.#trailer !== undefined) throw malformed('something follows the trailer');
    const { field, content } = oneContent(message, malformed);
    if (field === 1) this.#addHeader(content);
    else if (this.#header === undefined) throw malformed('the header does not come first');
    else if (field === 2) this.#list(content, dictionaryBytes, () => this.#dictionary.add(content.string()));
    else if (field === 3) this.#list(content, listBytes, () => this.#addColumn(content.message()));
    else if (field === 4) this.#list(content, listBytes, () => this.#addGroup(content.message()));
    else if (field === 5) this.#addTrailer(content);
    // An unknown field comes from a later, compatible version and can be ignored: an incompatible one would have
    // another version number.
  }

  /** The whole answer. Errors: ERR_INPUT_INVALID for an incomplete one. */
  finish(): WholePartial {
    if (this.#header === undefined) throw malformed('no header');
    if (this.#trailer === undefined) throw malformed('no trailer: the answer was cut');
    const { rows, stats, ...rest } = this.#trailer;
    const [columns, groups] = [this.#columns, this.#groups];
    if (rows !== columns.length + groups.length) {
      throw malformed(`${columns.length + groups.length} rows, the trailer states ${rows}`);
    }
    return { header: this.#header, result: { columns, groups, ...rest }, stats, groupBytes: this.#groupBytes };
  }

  #list(content: WireReader, most: number, read: () => void): void {
    eachOf(content, most, malformed, read);
  }

  #addHeader(reader: WireReader): void {
    if (this.#header !== undefined) throw malformed('two headers');
    if (reader.end - reader.pos > headerBytes) throw malformed(`header of more than ${headerBytes} bytes`);
    this.#header = messages.readHeader(reader);
    this.#expected.onHeader(this.#header);
  }

  #addColumn(reader: WireReader): void {
    const { fragment, steps, onColumn } = this.#expected;
    const hasColumns = fragment.kind !== 'agg' || ['topk', 'bottomk', 'limitk'].includes(fragment.op ?? '');
    if (!hasColumns) throw malformed(`series in an answer to ${fragment.op}`);
    const column = readColumn(reader, this.#dictionary, steps, this.#hold);
    onColumn(column);
    // A vector may have several series with the same labels only while their names are still to be removed.
    if (!this.#series[column.dropName ? 1 : 0].add(column.labels)) throw twice();
    this.#columns.push(column);
    this.#checkCount();
  }

  #addGroup(reader: WireReader): void {
    const { fragment, steps } = this.#expected;
    if (fragment.kind !== 'agg') throw malformed('group in an answer of series');
    this.#bytes = 0;
    const group = readGroup(reader, this.#dictionary, fragment, steps, this.#groupHold);
    if (this.#met.has(group.labels)) throw twice();
    this.#met.add(group.labels);
    this.#groups.push(group);
    this.#groupBytes.push(this.#bytes);
    this.#checkCount();
  }

  #addTrailer(reader: WireReader): void {
    const { steps } = this.#expected;
    const most = notesBytes + 16 * steps;
    if (reader.end - reader.pos > most) throw malformed(`trailer of more than ${most} bytes`);
    this.#hold(noteBytes * fieldsOf(reader.bytes, reader.pos, reader.end));
    this.#trailer = trailerOf(messages.readTrailer(reader), steps);
  }

  #checkCount(): void {
    const { maxSeries } = this.#expected;
    if (this.#columns.length + this.#groups.length > maxSeries) throw malformed(`more than ${maxSeries} rows`);
  }
}

const twice = (): OperatorError => malformed('two rows of the same labels');

interface Trailer extends Omit<FragmentResult, 'columns' | 'groups'> {
  readonly rows: number;
  readonly stats: PartialStats;
}

function trailerOf({ waitMs, evaluateMs, queryable, read, ...found }: messages.Trailer, steps: number): Trailer {
  const perStep = (column: Uint8Array): Float64Array =>
    counts(readDoubles(new WireReader(column), 0, column.length, null, steps));
  return {
    ...found,
    stats: { waitMs, evaluateMs },
    annotations: found.annotations.map(annotationOf),
    samples: queryable && read ? { queryable: perStep(queryable), read: perStep(read) } : undefined,
  };
}

/** The number of fields with bytes in a message. */
function fieldsOf(bytes: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (const reader = new WireReader(bytes, start, end); !reader.done;) {
    const wireType = reader.key() & 7;
    if (wireType === 2) count++;
    reader.skip(wireType);
  }
  return count;
}
