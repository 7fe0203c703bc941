import { LinkedAbort } from '../../base/linked-abort.ts';
import type { MemoryLease } from '../../base/memory-pool.ts';
import type { Distribution } from '../../promql/index.ts';
import type { LostNode } from './failure.ts';
import type { PartialReader } from './readers/partial-reader.ts';
import { Pushdown } from './pushdown.ts';
import type { ExecutionPath, Fallback, PushdownReport } from './pushdown-report.ts';
import { QueryScope } from './query-scope.ts';
import type { ScopeOptions } from './query-scope.ts';

/** The resources and options of one query. */
export interface AttemptOptions {
  readonly scope: Omit<ScopeOptions, 'lost' | 'memory'>;
  /** The memory of each evaluation comes from here; that of the last is kept, for its result. */
  readonly lease: Pick<MemoryLease, 'part'>;
  /** Reads partial answers; undefined: none are read. */
  readonly partialReader: PartialReader | undefined;
  /** The highest execution path that may be taken. */
  readonly path: ExecutionPath;
  /** True when the client chose the path. */
  readonly forced: boolean;
}

export interface Attempted<T> {
  readonly result: T;
  readonly lost: ReadonlyMap<string, LostNode>;
  readonly pushdown: PushdownReport;
  /** Warnings about series that were joined. */
  readonly warnings: readonly string[];
}

/**
 * Created once: an error captures its stack, which costs more than everything else that an attempt does when it ends.
 */
const ended = new Error('the evaluation has ended');

/**
 * Evaluates a query until all of its parts come from the same nodes by one execution path: again without a node that
 * was lost on the way, and again by a lower path when an agent cannot take part in a higher one (whole → agg → series →
 * off).
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
  // Each iteration loses one more node or takes a lower path, so the loop ends.
  for (;;) {
    // Aborts the work that an attempt still has in flight when it ends.
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
