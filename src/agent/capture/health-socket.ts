import { request } from 'node:http';

/** Whether the instrument answers. */
export type HealthCheck = (signal: AbortSignal) => Promise<boolean>;

const deadlineMs = 1_000;

/**
 * `GET /healthz` on a unix socket; a name that starts with `@` is in the abstract namespace, as the instrument has it.
 * Only the status counts: the uptime in the answer is that of the health server, which starts up to half a minute after
 * the instrument has read its file, so it says nothing about which file that was.
 */
export function socketHealth(socket: string): HealthCheck {
  const socketPath = socket.startsWith('@') ? `\0${socket.slice(1)}` : socket;
  return (signal) =>
    new Promise((resolve) => {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
      const req = request({ socketPath, path: '/healthz', signal: deadline, agent: false }, (res) => {
        res.resume();
        res.on('error', () => {});
        resolve(res.statusCode === 200);
      });
      req.on('error', () => resolve(false));
      req.end();
    });
}
