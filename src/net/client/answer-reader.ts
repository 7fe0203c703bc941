import type { IncomingHttpHeaders } from 'node:http';

/** Most bytes of the status line and the header fields of one answer. */
const maxHeadBytes = 64 * 1024;
/** Most bytes of a chunk's size line, and of a field behind the last chunk. */
const maxLineBytes = 4 * 1024;

const carriageReturn = 13;
const lineFeed = 10;

/** What is told of an answer while its bytes arrive. */
export interface AnswerTarget {
  head(status: number, headers: IncomingHttpHeaders): void;
  /** A part of the body. It is a view of the bytes that were pushed. */
  part(bytes: Buffer): void;
}

type State = 'head' | 'counted' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'done';

/**
 * Reads one HTTP/1.1 answer to a request that may have a body in its answer (any method but HEAD and CONNECT).
 * Flow: push what arrives until `isDone`; when the connection ends before, `end` says whether the answer is whole.
 * Guarantees: the body is handed out in order and without its framing, never beyond its length. Informational answers
 * (1xx) are passed over.
 * Errors: an Error that says what is not HTTP/1.1; then nothing more may be pushed.
 * Source: RFC 9112, sections 4 to 7. Of two lengths that contradict each other none is believed.
 */
export class AnswerReader {
  readonly #target: AnswerTarget;
  #state: State = 'head';
  /** Bytes of an unfinished head or line. */
  #kept: Buffer | undefined;
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;
  #keepsAlive = false;

  constructor(target: AnswerTarget) {
    this.#target = target;
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Whether the connection serves a further request, once the answer is done. */
  get keepsAlive(): boolean {
    return this.#keepsAlive;
  }

  /** The connection has ended: true when the answer is whole. */
  end(): boolean {
    if (this.#state === 'until-close') this.#state = 'done';
    return this.isDone;
  }

  /** Returns the number of bytes that belong to the answer: fewer than given when it ends before. */
  push(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') {
      switch (this.#state) {
        case 'head':
          at = this.#head(bytes, at);
          break;
        case 'counted':
        case 'chunk':
        case 'until-close':
          at = this.#body(bytes, at);
          break;
        default:
          at = this.#line(bytes, at);
      }
    }
    return at;
  }

  #body(bytes: Buffer, at: number): number {
    if (this.#state === 'until-close') {
      this.#target.part(bytes.subarray(at));
      return bytes.length;
    }
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    // The state comes first: the target may look at it.
    if (this.#left === 0) this.#state = this.#state === 'chunk' ? 'chunk-end' : 'done';
    this.#target.part(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    return end;
  }

  #head(bytes: Buffer, at: number): number {
    const before = this.#kept?.length ?? 0;
    const all = this.#kept === undefined ? bytes.subarray(at) : Buffer.concat([this.#kept, bytes.subarray(at)]);
    const end = all.indexOf('\r\n\r\n', Math.max(0, before - 3), 'latin1');
    if ((end < 0 ? all.length : end) > maxHeadBytes) throw new Error('the head of the answer is too large');
    if (end < 0) {
      // A copy: the bytes may be a view of a buffer that is read into again.
      this.#kept = Buffer.from(all);
      return bytes.length;
    }
    this.#kept = undefined;
    this.#readHead(all.toString('latin1', 0, end));
    return at + end + 4 - before;
  }

  #readHead(text: string): void {
    const lines = text.split('\r\n');
    const [, minor, code] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(lines[0]!) ?? [];
    if (code === undefined) throw new Error('the answer is not HTTP/1.1');
    const status = Number(code);
    if (status === 101) throw new Error('the peer changes to a protocol that nobody asked for');
    if (status < 200) return;
    const headers = readFields(lines);
    this.#keepsAlive = keepsAlive(headers.connection, minor === '1');
    this.#state = this.#framing(status, headers);
    this.#target.head(status, headers);
  }

  #framing(status: number, headers: IncomingHttpHeaders): State {
    if (status === 204 || status === 304) return 'done';
    const encoding = headers['transfer-encoding'];
    const length = headers['content-length'];
    if (encoding !== undefined) {
      if (encoding.toLowerCase() !== 'chunked') throw new Error(`transfer encoding ${JSON.stringify(encoding)}`);
      if (length !== undefined) throw new Error('the answer has a length and is chunked');
      return 'chunk-size';
    }
    if (length === undefined) {
      this.#keepsAlive = false;
      return 'until-close';
    }
    if (!/^\d{1,15}$/.test(length)) throw new Error(`content length ${JSON.stringify(length)}`);
    this.#left = Number(length);
    return this.#left === 0 ? 'done' : 'counted';
  }

  /** A line of the framing of chunks. */
  #line(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(lineFeed, at);
    const until = end < 0 ? bytes.length : end;
    const part = bytes.subarray(at, until);
    const line = this.#kept === undefined ? part : Buffer.concat([this.#kept, part]);
    if (line.length > maxLineBytes) throw new Error('a line between chunks is too long');
    if (end < 0) {
      this.#kept = Buffer.from(line);
      return bytes.length;
    }
    this.#kept = undefined;
    if (line.at(-1) !== carriageReturn) throw new Error('a line between chunks has no end');
    this.#readLine(line.toString('latin1', 0, line.length - 1));
    return end + 1;
  }

  #readLine(line: string): void {
    if (this.#state === 'chunk-end') {
      if (line !== '') throw new Error('a chunk is longer than its size');
      this.#state = 'chunk-size';
    } else if (this.#state === 'trailer') {
      if (line === '') this.#state = 'done';
    } else {
      const size = /^([0-9a-f]{1,8})[ \t]*(?:;|$)/i.exec(line)?.[1];
      if (size === undefined) throw new Error('a chunk without a size');
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'chunk';
    }
  }
}

/** Fields by name in lower case; several of one name are joined, as RFC 9110 section 5.3 allows. */
function readFields(lines: readonly string[]): IncomingHttpHeaders {
  const headers = Object.create(null) as Record<string, string>;
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i]!;
    const colon = line.indexOf(':');
    if (colon <= 0 || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(line.slice(0, colon))) {
      throw new Error('a header field without a name');
    }
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const known = headers[name];
    if (known === undefined) headers[name] = value;
    else if (name !== 'content-length') headers[name] = `${known}, ${value}`;
    else if (known !== value) throw new Error('two content lengths');
  }
  return headers;
}

function keepsAlive(connection: string | undefined, byDefault: boolean): boolean {
  if (connection === undefined) return byDefault;
  const said = connection.toLowerCase();
  return byDefault ? !/(^|,)\s*close\s*(,|$)/.test(said) : /(^|,)\s*keep-alive\s*(,|$)/.test(said);
}
