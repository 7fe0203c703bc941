import { errorText } from '../base/errors.ts';

type Check = () => void | Promise<void>;

export interface CheckReport {
  ok: boolean;
  checks: { name: string; ok: boolean; reason?: string }[];
}

/** Named checks of one probe. */
export class Health {
  readonly #checks = new Map<string, Check>();

  /** A check resolves when fine and throws with the reason when not. A later one of the same name replaces it. */
  add(name: string, check: Check): void {
    this.#checks.set(name, check);
  }

  /** Runs all checks but those excluded. Never rejects. */
  async run(exclude: readonly string[] = []): Promise<CheckReport> {
    const checks = await Promise.all(
      [...this.#checks]
        .filter(([name]) => !exclude.includes(name))
        .map(async ([name, check]) => {
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
  const lines = report.checks.map((c) => (c.ok ? `[+]${c.name} ok` : `[-]${c.name} failed: ${c.reason}`));
  return `${[...lines, `${probe} check ${report.ok ? 'passed' : 'failed'}`].join('\n')}\n`;
}
