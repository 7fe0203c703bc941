import { dirname, join } from 'node:path';
import { Type, type Static } from '@sinclair/typebox';
import { sha256Hex } from '../../base/canonical-json.ts';
import { parseJson } from '../../base/text/parse-json.ts';
import { parser } from '../../base/wire/parser.ts';
import { keepFile, readIfPresent } from '../capture/durable-file.ts';

const stateSchema = Type.Object({
  version: Type.Literal(1),
  /** `sha256:…` of the file that the instrument was started with. */
  config: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
  /** Number of starts during the life of the supervisor. */
  starts: Type.Integer({ minimum: 0 }),
  /** When the previous process was asked to end; null before the first restart. Units: ms since the epoch. */
  stoppedMs: Type.Union([Type.Number(), Type.Null()]),
  /** Null while no process runs. */
  pid: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
  startedMs: Type.Union([Type.Number(), Type.Null()]),
});
const parseState = parser('state of the instrument', stateSchema);

/** The supervisor's report on the instrument: which file it was started with, and when. */
export type SupervisorState = Static<typeof stateSchema>;

/**
 * Reads the supervisor's state; null before its first start.
 * Errors: ERR_INPUT_INVALID that names the field.
 */
export async function readSupervisorState(dir: string): Promise<SupervisorState | null> {
  const bytes = await readIfPresent(join(dir, 'state.json'));
  return bytes && parseState(parseJson(bytes, 'state of the instrument:'));
}

/**
 * Reads the supervisor's copy of the file that the instrument was started with. `hash` is that file's hash in the state.
 * Null while the copy is missing or is of another file, as between two runs.
 */
export async function readRunningFile(dir: string, hash: string): Promise<string | null> {
  const yaml = (await readIfPresent(join(dir, 'config.yaml')))?.toString('utf8');
  return yaml !== undefined && instrumentFileHash(yaml) === hash ? yaml : null;
}

/** The hash that identifies a config file of the instrument in orders and states. */
export function instrumentFileHash(yaml: string): string {
  return `sha256:${sha256Hex(yaml)}`;
}

/** The path of the file with the order to restart, in the folder of the instrument's config file. */
export function orderPath(instrumentFile: string): string {
  return join(dirname(instrumentFile), 'run');
}

/** Orders the instrument to run the file with this hash; it is restarted unless it already runs that file. */
export async function orderRestart(instrumentFile: string, hash: string): Promise<void> {
  await keepFile(orderPath(instrumentFile), hash);
}
