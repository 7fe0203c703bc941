import { request } from 'node:http';
import { OperatorError } from '../../base/errors.ts';

/** What the instrument's health socket tells about the running process. */
export interface InstrumentHealth {
  /** When the process started. Units: ms since the epoch. */
  readonly startMs: number;
}

/** Asks the instrument how it is. Resolves to null when nobody answers. */
export type HealthProbe = (signal: AbortSignal) => Promise<InstrumentHealth | null>;

const deadlineMs = 1_000;
const maxBytes = 16 * 1024;

/**
 * `GET /healthz` on a unix socket; a name that starts with `@` is in the abstract namespace, as the instrument has it.
 * The answer is `{schema_version, now_unix_ns, process_uptime_ns}`; numbers may come as texts.
 * Errors: ERR_INPUT_INVALID for an answer of another form. A socket that is not there is null, not an error.
 */
export function socketProbe(socket: string): HealthProbe {
  const socketPath = socket.startsWith('@') ? `\0${socket.slice(1)}` : socket;
  return (signal) =>
    new Promise((resolve, reject) => {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
      const req = request({ socketPath, path: '/healthz', signal: deadline, agent: false }, (res) => {
        let text = '';
        res.setEncoding('utf8');
        res.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > maxBytes) req.destroy();
        });
        res.on('error', () => resolve(null));
        res.on('end', () => {
          try {
            resolve(res.statusCode === 200 ? parseHealth(text) : null);
          } catch (error) {
            reject(error as Error);
          }
        });
      });
      req.on('error', () => resolve(null));
      req.end();
    });
}

/** Reads the health answer. Errors: ERR_INPUT_INVALID that names the field. */
export function parseHealth(text: string): InstrumentHealth {
  let answer: Record<string, unknown>;
  try {
    answer = JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', 'instrument health: not JSON', { cause });
  }
  const field = (name: string): number => {
    const value = Number((answer as Record<string, unknown> | null)?.[name] ?? NaN);
    if (Number.isFinite(value) && value >= 0) return value;
    throw new OperatorError('ERR_INPUT_INVALID', `instrument health: ${name} is not a number`);
  };
  return { startMs: (field('now_unix_ns') - field('process_uptime_ns')) / 1e6 };
}
