import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../cluster/eventually.ts';

/** A real Prometheus with a folder of its own; it can be killed and started again on the same port. */
export class PrometheusProcess {
  readonly port: number;
  readonly #program: string;
  readonly #dir: string;
  readonly #flags: readonly string[];
  #child: ChildProcess | null = null;

  private constructor(program: string, dir: string, port: number, flags: readonly string[]) {
    this.#program = program;
    this.#dir = dir;
    this.port = port;
    this.#flags = flags;
  }

  static async start(
    program: string,
    dir: string,
    options: { config?: string; flags?: readonly string[] } = {},
  ): Promise<PrometheusProcess> {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'prometheus.yml'), options.config ?? 'global: {}\n');
    const made = new PrometheusProcess(program, dir, await freePort(), options.flags ?? []);
    await made.run();
    return made;
  }

  async run(): Promise<void> {
    this.#child = spawn(
      this.#program,
      [
        `--config.file=${join(this.#dir, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(this.#dir, 'data')}`,
        `--web.listen-address=127.0.0.1:${this.port}`,
        '--log.level=warn',
        ...this.#flags,
      ],
      { stdio: 'ignore' },
    );
    await eventually('Prometheus is ready', async () => (await fetch(`${this.url}/-/ready`)).ok);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  /** Samples that an instant query of a range selector finds, by series. */
  async samples(query: string): Promise<{ metric: Record<string, string>; values: [number, string][] }[]> {
    const answer = await fetch(`${this.url}/api/v1/query?${new URLSearchParams({ query })}`);
    const body = (await answer.json()) as {
      data?: { result: { metric: Record<string, string>; values?: [number, string][]; value?: [number, string] }[] };
    };
    return (body.data?.result ?? []).map(({ metric, values, value }) => ({
      metric,
      values: values ?? (value ? [value] : []),
    }));
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
