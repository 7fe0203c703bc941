import { generationOf, objectOfKey, type CaptureConfig, type FileChanges } from '../../capture/index.ts';

export interface RestartBudgetRules {
  /** Restarts that a namespace may cause in a row. */
  readonly burst: number;
  /** Time after which the namespace may cause one more restart. Units: ms. */
  readonly refillMs: number;
}

/**
 * Five restarts in quick succession, then one every two minutes. They are limited because a restart interrupts the
 * capture of every pod on the node for some seconds.
 */
export const restartBudgetRules: RestartBudgetRules = { burst: 5, refillMs: 120_000 };

/**
 * Limits how many restarts of one node's instrument the edits in each namespace may cause. A restart interrupts the
 * capture of every namespace on the node, so the edits in a namespace that is edited constantly are gathered into fewer
 * restarts.
 * Shape: a token bucket of restarts for each namespace. Times are of the monotonic clock, in ms.
 * Guarantees: a namespace is delayed by its own restarts alone; when one of several waiting namespaces may cause a
 * restart, this restart includes the edits of all of them.
 * Caveats: the budget starts full with a new leader.
 */
export class RestartBudget {
  readonly #rules: RestartBudgetRules;
  readonly #spent = new Map<string, { left: number; at: number }>();

  constructor(rules: RestartBudgetRules) {
    this.#rules = rules;
  }

  /** From when a restart for these namespaces is allowed; `now` when it is allowed already. */
  allowedAt(namespaces: ReadonlySet<string>, now: number): number {
    const times = [...namespaces].map((name) => now + Math.max(0, 1 - this.#left(name, now)) * this.#rules.refillMs);
    return times.length === 0 ? now : Math.min(...times);
  }

  /** A restart begins: takes it from the budget of each of these namespaces. */
  spend(namespaces: ReadonlySet<string>, now: number): void {
    for (const name of namespaces) {
      this.#spent.set(name, { left: Math.max(0, this.#left(name, now) - 1), at: now });
    }
    for (const [name, { left, at }] of this.#spent) {
      if (left + (now - at) / this.#rules.refillMs >= this.#rules.burst) this.#spent.delete(name);
    }
  }

  /** Gives back a restart that was begun for these namespaces and did not take place. */
  refund(namespaces: ReadonlySet<string>): void {
    for (const name of namespaces) {
      const spent = this.#spent.get(name);
      if (spent) this.#spent.set(name, { ...spent, left: Math.min(this.#rules.burst, spent.left + 1) });
    }
  }

  #left(name: string, now: number): number {
    const { burst, refillMs } = this.#rules;
    const spent = this.#spent.get(name);
    return spent ? Math.min(burst, spent.left + (now - spent.at) / refillMs) : burst;
  }
}

const none: ReadonlySet<string> = new Set();
const prefix = 'TrafficMonitor/';

/**
 * The namespaces whose edits make a node's instrument restart; none when something else makes it restart, such as a
 * changed policy or label. Pure.
 * `running` and `desired` are the generations of the running config and of the wanted one; `here` are the namespaces
 * with a pod on the node.
 */
export function restartCauses(
  running: CaptureConfig['generations'],
  desired: CaptureConfig['generations'],
  { general, namespaces }: FileChanges,
  here: ReadonlySet<string>,
): ReadonlySet<string> {
  const edited = editedNamespaces(running, desired);
  if (edited === null) return none;
  return general ? edited : new Set([...edited].filter((name) => namespaces.has(name) && here.has(name)));
}

type Generations = CaptureConfig['generations'];
const compared = new WeakMap<Generations, WeakMap<Generations, ReadonlySet<string> | null>>();

/**
 * The namespaces of the monitors that differ; null when a policy differs. The result is cached, because the nodes of a
 * group have the same generations.
 */
function editedNamespaces(running: Generations, desired: Generations): ReadonlySet<string> | null {
  const known = compared.get(running) ?? new WeakMap<Generations, ReadonlySet<string> | null>();
  compared.set(running, known);
  let found = known.get(desired);
  if (found === undefined) known.set(desired, (found = compare(running, desired)));
  return found;
}

function compare(running: Generations, desired: Generations): ReadonlySet<string> | null {
  const wanted = Object.keys(desired);
  const known = new Set(wanted.flatMap((key) => [key, objectOfKey(key)]));
  const differing = [
    ...wanted.filter((key) => generationOf(running, key) !== desired[key]),
    ...Object.keys(running).filter((key) => !known.has(key)),
  ];
  if (differing.some((key) => !key.startsWith(prefix))) return null;
  return new Set(differing.map((key) => key.slice(prefix.length).split('/')[0]!));
}
