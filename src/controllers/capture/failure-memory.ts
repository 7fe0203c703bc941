import { Type, type Static } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { canonicalJson } from '../../base/canonical-json.ts';
import { sleep, type Clock } from '../../base/clock.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { coreResources, type KubeClient } from '../../kube/index.ts';
import type { KubeObject } from '../../api/meta.ts';
import { Debounce } from './debounce.ts';

const failureSchema = Type.Object({
  node: Type.String({ minLength: 1, maxLength: 253 }),
  /** Uid of the agent's pod in which it failed. */
  pod: Type.String({ maxLength: 128 }),
  reason: Type.String({ minLength: 1, maxLength: 128 }),
  message: Type.String({ maxLength: 1_024 }),
  /** Hash of the file that did not run; null where the agent refused the whole config. */
  yaml: Type.Union([Type.String({ maxLength: 80 }), Type.Null()]),
  hash: Type.String({ maxLength: 80 }),
});
const check = TypeCompiler.Compile(Type.Array(failureSchema, { maxItems: 100_000 }));

/** What failed on one node. */
export type RememberedFailure = Static<typeof failureSchema>;

/** The object that outlives a leader. */
export const failureConfigMap = 'svc-capture-failures';
const dataKey = 'failures.json';
/** A ConfigMap holds 1 MiB; with messages of this length that is enough for this many nodes. */
const maxRows = 2_000;
const maxMessage = 200;

export interface FailureMemoryOptions {
  client: Pick<KubeClient, 'get' | 'apply'>;
  /** The operator's own. */
  namespace: string;
  clock: Clock;
  logger: Logger;
}

/** Failures come one after the other as a rollout meets them. Units: ms. */
const writeQuiet = { quietMs: 100, maxMs: 500 };
const retryMs = 1_000;

/**
 * What has failed on which node, in a ConfigMap: the next leader must not try a file again that has taken capture away
 * on a node before.
 * Flow: `load` once when leading begins → `remember` after each plan → one apply for what changed in a moment.
 * Guarantees: nothing is written while nothing changed; a write that fails is tried again until it is outdated.
 * Caveats: a leader that dies within the half second before a write takes that one failure with it.
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
   * What leaders before us wrote; an object that cannot be read as such counts as empty. Waits for the API server, but
   * not for a right that is missing.
   */
  async load(signal: AbortSignal): Promise<readonly RememberedFailure[]> {
    const { client, namespace, clock, logger } = this.#options;
    this.#signal = signal;
    for (;;) {
      try {
        const found = await client.get(coreResources.configMaps, { namespace, name: failureConfigMap }, { signal });
        const rows = parsed((found as KubeObject & { data?: Record<string, string> }).data?.[dataKey]);
        if (!rows) logger.warn('what has failed before cannot be read', { configMap: failureConfigMap });
        this.#written = this.#wanted = textOf(rows ?? []);
        return rows ?? [];
      } catch (error) {
        if (signal.aborted || isOperatorError(error, 'ERR_API_NOT_FOUND')) return [];
        logger.warn('what has failed before is not known', { error: errorText(error) });
        if (isOperatorError(error, 'ERR_API_FORBIDDEN')) return [];
        await sleep(clock, retryMs, signal).catch(() => {});
      }
    }
  }

  /** These are all there are now. */
  remember(failures: readonly RememberedFailure[]): void {
    this.#wanted = textOf(failures);
    if (this.#wanted !== this.#written && this.#signal && !this.#signal.aborted) this.#writing.call();
  }

  /** Resolves when nothing of it runs any more; what was not written yet is. */
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
          { fieldManager: 'svc-controller/capture', force: true, signal },
        );
        this.#written = text;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('what failed could not be written down', { error: errorText(error) });
        await sleep(clock, retryMs, signal).catch(() => {});
      }
    }
  }
}

function parsed(text: string | undefined): RememberedFailure[] | null {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return check.Check(value) ? value : null;
  } catch {
    return null;
  }
}

function textOf(failures: readonly RememberedFailure[]): string {
  const rows = failures
    .toSorted((a, b) => (a.node < b.node ? -1 : 1))
    .slice(0, maxRows)
    .map((row) => ({ ...row, message: row.message.slice(0, maxMessage) }));
  return canonicalJson(rows);
}
