import { watch, type FSWatcher } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { compileRules, readRuleDirectory } from './rule-directory.ts';
import type { RuleFileOptions } from './rule-file.ts';
import { activeScopes, allFiles, noRules, type RuleSet } from './rule-set.ts';

export interface RuleStoreOptions extends RuleFileOptions {
  dir: string;
  pollMs: number;
  clock: Clock;
  logger: Logger;
  /** Called after every load, changed or not. */
  onLoad?: (rules: RuleSet, result: 'success' | 'faulty' | 'failed') => void;
}

/**
 * The rules in force, kept up to date with their directory.
 * Flow: load → swap the whole set in one assignment → again after a change of the directory (watched) or `pollMs`.
 * Guarantees: a reader sees one complete set; loads never overlap; a directory that exists but cannot be listed leaves
 * the set as it is; an absent directory means no rules.
 * Caveats: watching only speeds up detection. Where file events do not work, polling alone finds changes.
 */
export class RuleStore {
  readonly #options: RuleStoreOptions;
  #rules: RuleSet = noRules;
  #found = false;
  #loading: Promise<void> | undefined;
  #again = false;
  #closed = false;
  #watcher: FSWatcher | undefined;
  #cancelPoll = (): void => {};

  constructor(options: RuleStoreOptions) {
    this.#options = options;
  }

  get current(): RuleSet {
    return this.#rules;
  }

  /** False while the directory is absent or was never read. */
  get found(): boolean {
    return this.#found;
  }

  /** Loads the rules, then watches the directory. */
  async start(): Promise<void> {
    await this.reload();
    this.#watch();
    this.#poll();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#cancelPoll();
  }

  /** Loads now. A call during a load causes one more load after it. */
  async reload(): Promise<void> {
    if (this.#loading) {
      this.#again = true;
      return this.#loading;
    }
    this.#loading = this.#loadUntilQuiet().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #loadUntilQuiet(): Promise<void> {
    do {
      this.#again = false;
      await this.#load();
    } while (this.#again && !this.#closed);
  }

  async #load(): Promise<void> {
    const { dir, logger, onLoad } = this.#options;
    try {
      const next = compileRules(await readRuleDirectory(dir), this.#rules, this.#options);
      this.#found = true;
      this.#swap(next);
      onLoad?.(next, next.faults.length === 0 ? 'success' : 'faulty');
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT' || code === 'ENOTDIR') {
        this.#found = false;
        this.#swap(noRules);
      }
      logger.warn('rules not loaded', { dir, error: errorText(error) });
      onLoad?.(this.#rules, 'failed');
    }
  }

  #swap(next: RuleSet): void {
    const changed = next.hash !== this.#rules.hash || faultText(next) !== faultText(this.#rules);
    this.#rules = next;
    if (!changed) return;
    this.#options.logger.info('rules in force', {
      rulesHash: next.hash,
      files: allFiles(next).length,
      scopes: activeScopes(next),
    });
    for (const fault of next.faults) this.#options.logger.warn('rule fault', { ...fault });
  }

  #watch(): void {
    if (this.#closed || this.#watcher) return;
    try {
      this.#watcher = watch(this.#options.dir, { persistent: false }, () => void this.reload());
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      this.#unwatch();
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #poll(): void {
    if (this.#closed) return;
    this.#cancelPoll = this.#options.clock.setTimeout(() => {
      // A watch on a replaced directory is silent for ever, so it is renewed with every poll.
      this.#unwatch();
      this.#watch();
      void this.reload().finally(() => this.#poll());
    }, this.#options.pollMs);
  }
}

function faultText(rules: RuleSet): string {
  return JSON.stringify(rules.faults);
}
