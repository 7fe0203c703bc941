import { Agent, request } from 'node:https';

/** Asks the query API over connections that are kept, as a dashboard's server does. */
export class ApiClient {
  readonly #agent: Agent;
  readonly #port: number;

  constructor(port: number, ca: string) {
    this.#port = port;
    this.#agent = new Agent({ ca, servername: 'localhost', keepAlive: true });
  }

  /** The body of a 200. Errors: any other status, with its body. */
  ask(path: string, params: Readonly<Record<string, string>>, headers: Record<string, string> = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const target = { host: '127.0.0.1', port: this.#port, path: `${path}?${new URLSearchParams(params)}` };
      const req = request({ ...target, agent: this.#agent, headers }, (res) => {
        const parts: Buffer[] = [];
        res.on('data', (part: Buffer) => parts.push(part)).on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(parts).toString();
          if (res.statusCode === 200) resolve(text);
          else reject(new Error(`${res.statusCode}: ${text.slice(0, 300)}`));
        });
      });
      req.on('error', reject).end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
