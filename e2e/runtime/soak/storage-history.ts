import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { ClientRequest } from 'node:http';
import type { Cluster } from '../../cluster/cluster.ts';

/** One write of the API server's storage. */
export interface StoredWrite {
  /** Name of the object. */
  name: string;
  /** Its resource version, as the number that etcd counts by. */
  revision: number;
  deleted: boolean;
}

interface WatchAnswer {
  result?: { events?: { type?: string; kv: { key: string; mod_revision: string } }[] };
}

/**
 * Every write below a key prefix of etcd, read directly from etcd: the history continues while the API server is down,
 * and loses nothing. The soak compares the events of watches with it.
 */
export class StorageHistory {
  readonly writes: StoredWrite[] = [];
  readonly #prefix: string;
  #request: ClientRequest | undefined;
  #broken: string | undefined;

  /** `prefix`: such as `/registry/pods/shop/`. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Why the history is incomplete; undefined while it is complete. */
  get broken(): string | undefined {
    return this.#broken;
  }

  /** Follows all writes from the first revision on. Resolves at etcd's first answer, and rejects if etcd refuses. */
  async start(etcd: Cluster['etcd']): Promise<void> {
    const { url, ...tls } = etcd;
    const text = (value: string): string => Buffer.from(value).toString('base64');
    // The prefix ends with a slash, and `0` follows the slash in ASCII. So the range from the prefix to `end` holds
    // exactly the keys with this prefix.
    const end = `${this.#prefix.slice(0, -1)}0`;
    const body = { create_request: { key: text(this.#prefix), range_end: text(end), start_revision: '1' } };
    await new Promise<void>((resolve, reject) => {
      const call = request(`${url}/v3/watch`, { ...tls, method: 'POST' }, (answer) => {
        if (answer.statusCode !== 200) return reject(new Error(`etcd answered ${answer.statusCode}`));
        const broke = (why: string): void => void (this.#broken ??= why);
        const lines = createInterface({ input: answer.on('error', (error) => broke(error.message)) });
        lines.on('error', (error) => broke(error.message));
        lines.on('line', (line) => {
          this.#take(JSON.parse(line) as WatchAnswer);
          resolve();
        });
        lines.on('close', () => broke('the watch of etcd ended'));
      });
      call.on('error', (error) => {
        this.#broken ??= error.message;
        reject(error);
      });
      this.#request = call;
      call.end(JSON.stringify(body));
    });
  }

  stop(): void {
    this.#request?.destroy();
  }

  #take({ result }: WatchAnswer): void {
    if (!result) this.#broken ??= 'etcd answered with an error';
    for (const { type, kv } of result?.events ?? []) {
      const name = Buffer.from(kv.key, 'base64').toString('utf8').slice(this.#prefix.length);
      this.writes.push({ name, revision: Number(kv.mod_revision), deleted: type === 'DELETE' });
    }
  }
}
