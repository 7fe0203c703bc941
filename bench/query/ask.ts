import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, request } from 'node:https';

/** A client of the query API with keep-alive connections, as a dashboard's server has. Without a CA: plain HTTP. */
export class ApiClient {
  readonly #send: (path: string, headers: Record<string, string>) => ReturnType<typeof request>;
  readonly #agent: Agent | PlainAgent;

  constructor(port: number, ca?: string) {
    const target = { host: '127.0.0.1', port };
    if (ca === undefined) {
      const agent = new PlainAgent({ keepAlive: true });
      this.#agent = agent;
      this.#send = (path, headers) => plainRequest({ ...target, path, headers, agent });
    } else {
      const agent = new Agent({ ca, servername: 'localhost', keepAlive: true });
      this.#agent = agent;
      this.#send = (path, headers) => request({ ...target, path, headers, agent });
    }
  }

  /** The body of a 200. Errors: any other status, with its body. */
  ask(path: string, params: Readonly<Record<string, string>>, headers: Record<string, string> = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const req = this.#send(`${path}?${new URLSearchParams(params)}`, headers);
      req.on('response', (res) => {
        const parts: Buffer[] = [];
        res.on('data', (part: Buffer) => parts.push(part)).on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(parts).toString();
          if (res.statusCode === 200) resolve(text);
          else reject(new Error(`${path} ${JSON.stringify(params)}: ${res.statusCode} ${text.slice(0, 300)}`));
        });
      });
      req.on('error', reject).end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
