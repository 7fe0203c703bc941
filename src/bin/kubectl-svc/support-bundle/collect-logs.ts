import { errorText } from '../../../base/errors.ts';
import { isForbidden, isNotFound, type RestClient } from '../../../kube/index.ts';
import type { Bundle } from './bundle.ts';
import { inTurns } from './in-turns.ts';
import { loggedContainers, type OwnPod } from './own-pods.ts';
import type { Redactor } from './redact/redactor.ts';

/** Limits of one container's log: the newest lines, and the newest bytes of those. */
const maxLines = 10_000;
const maxBytes = 512 * 1024;
/** The API server sends the requested lines from the oldest, and stops after this much. */
const maxReadBytes = 8 * 1024 * 1024;

export interface LogOptions {
  readonly redactor: Redactor;
  readonly sinceSeconds: number;
  readonly signal: AbortSignal;
}

/** Adds the log of every container, and that of its previous run if it was restarted. */
export async function addLogs(
  bundle: Bundle,
  client: Pick<RestClient, 'podLog'>,
  pods: readonly OwnPod[],
  { redactor, sinceSeconds, signal }: LogOptions,
): Promise<void> {
  const wanted = pods.flatMap((own) =>
    loggedContainers(own.pod).flatMap(({ name, restarted }) =>
      [false, ...(restarted ? [true] : [])].map((previous) => ({ ...own, container: name, previous })),
    ),
  );
  await inTurns(wanted, signal, async ({ namespace, name, container, previous }) => {
    const path = `logs/${namespace}/${name}/${container}${previous ? '.previous' : ''}.log`;
    if (bundle.full) return bundle.lacks(path, 'the bundle has reached its size');
    const query = { container, ...(previous ? { previous } : { sinceSeconds }), limitBytes: maxReadBytes };
    try {
      const text = await wholeTail((tailLines) =>
        client.podLog({ namespace, name }, { ...query, tailLines }, { signal, retry: false }),
      );
      if (text === undefined) bundle.lacks(path, `its last line is longer than ${maxReadBytes} bytes`);
      else bundle.add(path, 'log', redactor.lines(newest(text)));
    } catch (error) {
      if (signal.aborted) throw error;
      bundle.lacks(path, whyNoLog(error, previous, redactor));
    }
  });
}

/**
 * The last lines of a log. Fewer are read if the byte limit would cut off the newest; undefined if it cuts even the
 * last line.
 */
async function wholeTail(read: (lines: number) => Promise<string>): Promise<string | undefined> {
  for (let lines = maxLines; lines > 0;) {
    const text = await read(lines);
    if (Buffer.byteLength(text) < maxReadBytes) return text;
    // The lines that are missing may be longer than those that came.
    lines = Math.floor(Math.min(lines, text.split('\n').length) / 2);
  }
  return undefined;
}

function whyNoLog(error: unknown, previous: boolean, redactor: Redactor): string {
  if (isForbidden(error)) return 'you may not get pods/log';
  if (isNotFound(error)) return 'the pod is gone';
  if (previous) return `there is no log of the previous container (${redactor.text(errorText(error))})`;
  return redactor.text(errorText(error));
}

/** The end of a log, from the start of a line. Pure. */
export function newest(text: string, limit = maxBytes): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  const end = bytes.subarray(bytes.length - limit).toString('utf8');
  return end.slice(end.indexOf('\n') + 1);
}
