import { Type, type Static } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { sleep, type Clock } from '../../../base/clock.ts';
import { errorText, isOperatorError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { cutToUnits } from '../../../base/text/texts.ts';
import { coreResources, type KubeClient } from '../../../kube/index.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { fieldManagerOf } from '../../apply-set.ts';
import { Debounce } from '../debounce.ts';

const failureSchema = Type.Object({
  node: Type.String({ minLength: 1, maxLength: 253 }),
  /** Uid of the agent's pod in which the instrument failed with the file. */
  pod: Type.String({ maxLength: 128 }),
  reason: Type.String({ minLength: 1, maxLength: 128 }),
  message: Type.String({ maxLength: 1_024 }),
  /** Hash of the file that did not run; null when the agent refused the whole config. */
  yamlHash: Type.Union([Type.String({ maxLength: 80 }), Type.Null()]),
  hash: Type.String({ maxLength: 80 }),
  /** The instrument was unfit before it got the file, and the failure says nothing about the file elsewhere. Release 0.1.0 does not write it. */
  alone: Type.Optional(Type.Boolean()),
});
const check = TypeCompiler.Compile(Type.Array(failureSchema, { maxItems: 100_000 }));

/** The failure of a config on one node. */
export type RememberedFailure = Static<typeof failureSchema>;

/** The ConfigMap in which one leader leaves the failures to the next. */
export const failureConfigMap = 'svc-capture-failures';
const dataKey = 'failures.json';
/** The longest text of failures: with its metadata, the ConfigMap stays within the 1 MiB that the API server takes. */
const maxTextBytes = 1_000_000;
const maxMessage = 200;

export interface FailureMemoryOptions {
  client: Pick<KubeClient, 'get' | 'apply'>;
  /** The operator's own namespace. */
  namespace: string;
  clock: Clock;
  logger: Logger;
}

/** A rollout meets its failures one after the other; they are collected this long before a write. Units: ms. */
const writeQuiet = { quietMs: 100, maxMs: 500 };
const retryMs = 1_000;

/**
 * The failures of the instrument's files on nodes, in a ConfigMap: the next leader must not retry a file that already
 * stopped capture on a node.
 * Flow: `load` once when leading begins → `remember` after each plan → one apply for changes that come close together.
 * Guarantees: nothing is written without a change; a failed write is retried, with newer failures if there are any.
 * Caveats: a leader that dies in the half second before a write loses the failures that were to be written.
 */
export class FailureMemory {
  readonly #options: FailureMemoryOptions;
  readonly #writing: Debounce;
  #signal: AbortSignal | null = null;
  #written = '[]';
  #wanted = '[]';
  #busy: Promise<void> | null = null;

  constructor(options: FailureMemoryOptions) {
    this.#options = options;
    this.#writing = new Debounce(options.clock, writeQuiet, () => this.#write());
  }

  /**
   * The failures that earlier leaders wrote; an object that cannot be parsed counts as empty. Waits for the API server,
   * but not for a missing permission.
   */
  async load(signal: AbortSignal): Promise<readonly RememberedFailure[]> {
    const { client, namespace, clock, logger } = this.#options;
    this.#signal = signal;
    for (;;) {
      try {
        const found = await client.get(coreResources.configMaps, { namespace, name: failureConfigMap }, { signal });
        const rows = parsed((found as KubeObject & { data?: Record<string, string> }).data?.[dataKey]);
        if (!rows) logger.warn('the record of failed configs is damaged', { configMap: failureConfigMap });
        this.#written = this.#wanted = textOf(rows ?? []);
        return rows ?? [];
      } catch (error) {
        if (signal.aborted || isOperatorError(error, 'ERR_API_NOT_FOUND')) return [];
        logger.warn('the record of failed configs could not be loaded', { error: errorText(error) });
        if (isOperatorError(error, 'ERR_API_FORBIDDEN')) return [];
        await sleep(clock, retryMs, signal).catch(() => {});
      }
    }
  }

  /** Replaces the recorded failures by these. */
  remember(failures: readonly RememberedFailure[]): void {
    this.#wanted = textOf(failures);
    if (this.#wanted !== this.#written && this.#signal && !this.#signal.aborted) this.#writing.call();
  }

  /**
   * Resolves when the write under way has ended. A write that is only due is dropped: another replica may hold the
   * Lease now.
   */
  async stop(): Promise<void> {
    this.#writing.cancel();
    await this.#busy;
  }

  #write(): void {
    this.#busy ??= this.#apply().finally(() => {
      this.#busy = null;
    });
  }

  async #apply(): Promise<void> {
    const { client, namespace, clock, logger } = this.#options;
    const signal = this.#signal!;
    while (this.#wanted !== this.#written && !signal.aborted) {
      const text = this.#wanted;
      try {
        await client.apply(
          coreResources.configMaps,
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { namespace, name: failureConfigMap },
            data: { [dataKey]: text },
          } as KubeObject,
          { fieldManager: fieldManagerOf('capture'), force: true, signal },
        );
        this.#written = text;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('failed configs could not be saved', { error: errorText(error) });
        await sleep(clock, retryMs, signal).catch(() => {});
      }
    }
  }
}

function parsed(text: string | undefined): RememberedFailure[] | null {
  try {
    const value: unknown = JSON.parse(text ?? '[]', renamed);
    return check.Check(value) ? value : null;
  } catch {
    return null;
  }
}

/** Release 0.1.0 writes the hash of the file only as `yaml`. */
function renamed(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('yaml' in value)) return value;
  const { yaml: yamlHash, ...rest } = value;
  return { ...rest, yamlHash };
}

/**
 * The rows as text; those beyond its size are left out. Each has the hash of the file also as `yaml`: release 0.1.0
 * counts a record without it as damaged, so a leader of that release would retry every file that failed.
 */
function textOf(failures: readonly RememberedFailure[]): string {
  const rows: string[] = [];
  let bytes = '[]'.length;
  for (const row of failures.toSorted((a, b) => (a.node < b.node ? -1 : 1))) {
    const text = canonicalJson({ ...row, message: cutToUnits(row.message, maxMessage), yaml: row.yamlHash });
    bytes += Buffer.byteLength(text) + ','.length;
    if (bytes > maxTextBytes) break;
    rows.push(text);
  }
  return `[${rows.join(',')}]`;
}
