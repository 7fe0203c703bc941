import { EventEmitter } from 'node:events';
import { appendFileSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** One line of a container's output. */
export interface LogLine {
  /** RFC 3339 with milliseconds. */
  time: string;
  text: string;
}

/**
 * The log of one run of one container: a file with `<time> <stream> <text>` lines. A file that reaches its cap is kept
 * beside the next one, as `.1`.
 * Guarantees: never more than about twice `capBytes` on disk, unless one line alone is longer than the cap; a finished
 * line is readable as soon as it was written.
 */
export class ContainerLog {
  readonly path: string;
  readonly #capBytes: number;
  readonly #events = new EventEmitter();
  #size = 0;
  #ended = false;

  constructor(path: string, capBytes: number) {
    this.path = path;
    this.#capBytes = capBytes;
    this.#size = existsSync(path) ? statSync(path).size : 0;
    this.#events.setMaxListeners(0);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Writes a stream's lines until it ends. */
  take(stream: Readable, name: 'stdout' | 'stderr'): Promise<void> {
    const lines = createInterface({ input: stream, crlfDelay: Infinity });
    lines.on('line', (text) => this.#write(name, text));
    return new Promise((resolve) => lines.once('close', resolve));
  }

  /** Ends the log, and with it all followers. */
  end(): void {
    this.#ended = true;
    this.#events.emit('end');
  }

  /** The lines so far, oldest first. */
  read(): LogLine[] {
    return readLog(this.path);
  }

  /** Calls back for each new line until the log ends or the returned function is called. */
  follow(onLine: (line: LogLine) => void, onEnd: () => void): () => void {
    if (this.#ended) {
      onEnd();
      return () => undefined;
    }
    this.#events.on('line', onLine);
    this.#events.once('end', onEnd);
    return () => {
      this.#events.off('line', onLine);
      this.#events.off('end', onEnd);
    };
  }

  #write(name: string, text: string): void {
    const time = new Date().toISOString();
    const line = `${time} ${name} ${text}\n`;
    if (this.#size + line.length > this.#capBytes && this.#size > 0) {
      renameSync(this.path, `${this.path}.1`);
      this.#size = 0;
    }
    appendFileSync(this.path, line);
    this.#size += Buffer.byteLength(line);
    this.#events.emit('line', { time, text } satisfies LogLine);
  }
}

/** All lines of a log: those of the rotated file, then those of the current one. */
export function readLog(path: string): LogLine[] {
  return [`${path}.1`, path].filter((p) => existsSync(p)).flatMap((p) => parse(readFileSync(p, 'utf8')));
}

/** The last lines of a run, for a termination message. Limits are kubelet's: 80 lines, 2048 bytes. */
export function lastWords(lines: readonly LogLine[]): string {
  const text = lines
    .slice(-80)
    .map((l) => `${l.text}\n`)
    .join('');
  return Buffer.from(text).subarray(-2048).toString('utf8');
}

function parse(text: string): LogLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const first = line.indexOf(' ');
      return { time: line.slice(0, first), text: line.slice(line.indexOf(' ', first + 1) + 1) };
    });
}
