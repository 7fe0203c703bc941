import { maxJsonDepth } from './json-size.ts';

/** Size of the elements that are parsed at once, which takes about a millisecond. Units: bytes. */
const pieceBytes = 64 * 1024;
/**
 * Limit of one element, and of the text outside the lists: parsing either takes some ten milliseconds. Units: bytes.
 */
const maxTextBytes = 4 * 1024 * 1024;

const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** A list or object on the path to one of the lists that are cut. */
interface Open {
  readonly isList: boolean;
  /** As in `CutJsonOptions.lists`. */
  readonly path: string;
  /** Of a list that is cut: its elements that are not parsed yet. */
  readonly elements: Text | undefined;
  /** Of an object: the key of the member that is being read. */
  key: string;
  /** Of an object: whether a key comes next. */
  awaitsKey: boolean;
  /** Of a list that is cut: whether an element must follow. */
  awaitsElement: boolean;
}

export interface CutJsonOptions {
  /**
   * The lists that are cut. Shape: the keys that lead to a list, with `[]` after each that is a list:
   * `data.result[].values[]` are the lists `values` of the elements of the list `result` in `data`.
   */
  readonly lists: readonly string[];
  /**
   * Called with elements of such a list, in their order. An element that contains another list to cut comes in a call
   * of its own, after the elements of that inner list.
   */
  readonly onElements: (list: string, elements: readonly unknown[]) => void;
}

/**
 * Reads a JSON text as it arrives. Its long lists are cut into pieces, each parsed by itself: JSON.parse of a long text
 * would block the thread until all of it is parsed, and all of its values would be in memory together.
 * Errors: SyntaxError if the text is not JSON or is nested deeper than 1,000, if one element has more than 4 MiB, or if
 * the text without the lists has more than 4 MiB.
 */
export class CutJson {
  readonly #options: CutJsonOptions;
  readonly #outline = new Text();
  readonly #open: Open[] = [];
  /** How many brackets are open within a value that contains none of the lists. */
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The beginning of a key, which continues in the next bytes. */
  #key: string | undefined;

  constructor(options: CutJsonOptions) {
    this.#options = options;
  }

  /** Takes the next bytes of the text, which must not change afterwards. */
  add(bytes: Uint8Array): void {
    /** The indexes of the first byte that was added to no text yet, and of the first byte of the key that is read. */
    let [from, keyFrom] = [0, 0];
    let text = this.#innermost();
    for (let i = 0; i < bytes.length; i++) {
      if (this.#inString) {
        i = this.#endOfString(bytes, i);
        if (this.#inString) break;
        if (this.#key !== undefined) this.#endKey(bytes, keyFrom, i);
        continue;
      }
      switch (bytes[i]) {
        case quote:
          this.#inString = true;
          if (this.#depth === 0 && this.#open.at(-1)?.awaitsKey === true) [this.#key, keyFrom] = ['', i + 1];
          break;
        case openList:
        case openObject:
          if (!this.#begin(bytes[i] === openList)) break;
          text.add(bytes.subarray(from, i + 1));
          from = i + 1;
          text = this.#innermost();
          break;
        case closeList:
        case closeObject: {
          if (this.#depth > 0) {
            this.#depth--;
            break;
          }
          const ended = this.#open.pop();
          if (ended?.isList !== (bytes[i] === closeList)) throw new SyntaxError('brackets do not match');
          if (ended.elements === undefined) break;
          text.add(bytes.subarray(from, i));
          from = i;
          this.#parse(ended, ended.elements);
          text = this.#innermost();
          break;
        }
        case comma: {
          const top = this.#depth === 0 ? this.#open.at(-1) : undefined;
          if (top?.isList === false) top.awaitsKey = true;
          if (top?.elements === undefined) break;
          if (text.length + i - from < pieceBytes && !this.#leadsOn(top.path)) break;
          text.add(bytes.subarray(from, i));
          from = i + 1;
          this.#parse(top, text);
          top.awaitsElement = true;
          break;
        }
        case colon: {
          const top = this.#open.at(-1);
          if (this.#depth === 0 && top?.isList === false) top.awaitsKey = false;
        }
      }
    }
    if (this.#key !== undefined) this.#key += latin1(bytes, keyFrom, bytes.length);
    text.add(bytes.subarray(from));
  }

  /** Returns the parsed text, in which the lists that were cut are empty. */
  end(): unknown {
    if (this.#open.length > 0) throw new SyntaxError('the text ends too early');
    return JSON.parse(this.#outline.take());
  }

  /** The index of the quote that ends the string; the number of bytes if the string goes on in the next ones. */
  #endOfString(bytes: Uint8Array, start: number): number {
    let i = start;
    for (; i < bytes.length; i++) {
      const byte = bytes[i];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) {
        this.#inString = false;
        return i;
      }
    }
    return i;
  }

  #endKey(bytes: Uint8Array, from: number, to: number): void {
    this.#open.at(-1)!.key = this.#key! + latin1(bytes, from, to);
    this.#key = undefined;
  }

  /** Begins a list or an object; true when it is a list that is cut. */
  #begin(isList: boolean): boolean {
    if (this.#depth > 0) {
      this.#enter();
      return false;
    }
    const around = this.#open.at(-1);
    const path = `${around === undefined ? '' : pathOfNext(around)}${isList ? '[]' : ''}`;
    const isCut = isList && this.#options.lists.includes(path);
    if (around !== undefined && !isCut && !this.#leadsOn(path)) {
      this.#enter();
      return false;
    }
    const elements = isCut ? new Text() : undefined;
    this.#open.push({ isList, path, elements, key: '', awaitsKey: !isList, awaitsElement: false });
    return isCut;
  }

  #enter(): void {
    if (++this.#depth > maxJsonDepth) throw new SyntaxError(`the text is nested deeper than ${maxJsonDepth}`);
  }

  #leadsOn(path: string): boolean {
    return this.#options.lists.some((list) => list.startsWith(`${path}.`));
  }

  /** The text that the next bytes belong to. */
  #innermost(): Text {
    for (let i = this.#open.length - 1; i >= 0; i--) {
      const { elements } = this.#open[i]!;
      if (elements !== undefined) return elements;
    }
    return this.#outline;
  }

  #parse(list: Open, text: Text): void {
    const elements = JSON.parse(`[${text.take()}]`) as unknown[];
    if (elements.length > 0) this.#options.onElements(list.path, elements);
    else if (list.awaitsElement) throw new SyntaxError('an element is missing');
  }
}

/** The path of the value that is read next in a list or an object. */
const pathOfNext = ({ isList, path, key }: Open): string =>
  isList || path === '' ? path + (isList ? '' : key) : `${path}.${key}`;

const latin1 = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');

/** A text in the parts in which it arrived. */
class Text {
  #parts: Uint8Array[] = [];
  length = 0;

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#parts.push(bytes);
    this.length += bytes.length;
    if (this.length > maxTextBytes) throw new SyntaxError(`a part of more than ${maxTextBytes} bytes`);
  }

  take(): string {
    const text = Buffer.concat(this.#parts).toString();
    this.#parts = [];
    this.length = 0;
    return text;
  }
}
