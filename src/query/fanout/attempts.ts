import { LinkedAbort } from '../../base/linked-abort.ts';
import type { MemoryLease } from '../../base/memory-pool.ts';
import type { Distribution } from '../../promql/index.ts';
import type { LostNode } from './failure.ts';
import type { PartialReader } from './readers/partial-reader.ts';
import { Pushdown } from './pushdown.ts';
import type { ExecutionPath, Fallback, PushdownReport } from './pushdown-report.ts';
import { QueryScope } from './query-scope.ts';
import type { ScopeOptions } from './query-scope.ts';

/** What one query may use. */
export interface AttemptOptions {
  readonly scope: Omit<ScopeOptions, 'lost' | 'memory'>;
  /** Where the memory of each evaluation comes from; that of the last is kept, for its result. */
  readonly lease: Pick<MemoryLease, 'part'>;
  /** How partial answers are read; undefined: not at all. */
  readonly partialReader: PartialReader | undefined;
  /** The highest way that may be taken. */
  readonly path: ExecutionPath;
  /** True when the path was asked for by the client. */
  readonly forced: boolean;
}

export interface Attempted<T> {
  readonly result: T;
  readonly lost: ReadonlyMap<string, LostNode>;
  readonly pushdown: PushdownReport;
  /** What is to be said of how series were joined. */
  readonly warnings: readonly string[];
}

/** Made once: an error takes its stack, which is more than all else that an attempt does when it ends. */
const ended = new Error('the evaluation has ended');

/**
 * Evaluates a query until all of its parts come from the same nodes in one way: again without a node that was lost on
 * the way, and again in a lower way when an agent cannot take part in a higher one (whole → agg → series → off).
 * Errors: those of `evaluate`.
 */
export async function attempt<T>(
  options: AttemptOptions,
  evaluate: (scope: QueryScope, distribution: Distribution | undefined) => Promise<T>,
): Promise<Attempted<T>> {
  const { partialReader: reader, forced, scope: scopeOptions } = options;
  let path: ExecutionPath = reader === undefined ? 'off' : options.path;
  let lost: ReadonlyMap<string, LostNode> = new Map();
  const fallbacks: Fallback[] = [];
  // Each turn loses a node more or takes a lower way, so this ends.
  for (;;) {
    // What an attempt has under way is of no use once it has ended.
    const over = new LinkedAbort(scopeOptions.signal);
    const memory = options.lease.part();
    const own = { ...scopeOptions, lost, signal: over.signal, memory };
    const scope = new QueryScope(own);
    const { ledger, budget } = scope;
    const pushdown =
      reader === undefined || path === 'off'
        ? undefined
        : new Pushdown({ scope: own, path, forced, reader, ledger, budget });
    try {
      const result = await evaluate(scope, pushdown);
      const { path: taken = 'off', reports: fragments = [] } = pushdown ?? {};
      const report = { path: taken, fragments, fallbacks, rawSelectors: scope.rawSelectors };
      return { result, lost: scope.lost, pushdown: report, warnings: [...scope.warnings] };
    } catch (error) {
      memory.close();
      if (scopeOptions.signal.aborted) throw error;
      if (pushdown?.stepDown !== undefined) {
        fallbacks.push(pushdown.stepDown);
        path = pushdown.stepDown.to;
      } else if (!scope.restart) throw error;
      lost = scope.lost;
    } finally {
      over.release();
      over.abort(ended);
    }
  }
}
