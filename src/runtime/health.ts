import { errorText } from '../base/errors.ts';

/** Resolves when healthy, throws with the reason otherwise. */
export type Check = () => void | Promise<void>;

/** The outcome of all checks of one probe. */
export interface CheckReport {
  ok: boolean;
  checks: { name: string; ok: boolean; reason?: string; excluded?: boolean }[];
}

/** Named checks of one probe. */
export class Health {
  readonly #checks = new Map<string, Check>();

  /** Adds a check, or replaces the check of the same name. */
  add(name: string, check: Check): void {
    this.#checks.set(name, check);
  }

  /** Runs all checks but the excluded ones, or only the check named `only`. Never rejects. */
  async run(options: { exclude?: readonly string[]; only?: string | undefined } = {}): Promise<CheckReport> {
    const { exclude = [], only } = options;
    const checks = await Promise.all(
      [...this.#checks]
        .filter(([name]) => only === undefined || name === only)
        .map(async ([name, check]) => {
          if (exclude.includes(name)) return { name, ok: true, excluded: true };
          try {
            await check();
            return { name, ok: true };
          } catch (error) {
            return { name, ok: false, reason: errorText(error) };
          }
        }),
    );
    return { ok: checks.every((c) => c.ok), checks };
  }
}

/** The body of a probe's answer, in the form that the API server itself uses. */
export function healthText(probe: string, report: CheckReport): string {
  const lines = report.checks.map(({ name, ok, reason, excluded }) => {
    if (excluded) return `[+]${name} excluded: ok`;
    return ok ? `[+]${name} ok` : `[-]${name} failed: ${reason}`;
  });
  return `${[...lines, `${probe} check ${report.ok ? 'passed' : 'failed'}`].join('\n')}\n`;
}
