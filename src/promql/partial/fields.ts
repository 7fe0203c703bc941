import { OperatorError } from '../../base/errors.ts';
import { parseJson } from '../../base/text/parse-json.ts';

/** The members of a JSON object that came from outside. Errors: ERR_INPUT_INVALID that names the field. */
export class Fields {
  readonly #what: string;
  readonly #all: Readonly<Record<string, unknown>>;

  /** `what` is the beginning of each error message. */
  constructor(body: string, what: string) {
    this.#what = what;
    const parsed = parseJson(body, `${what}: body:`);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
      throw this.invalid('body', 'is no object');
    this.#all = parsed as Record<string, unknown>;
  }

  invalid(field: string, reason: string): OperatorError {
    return new OperatorError('ERR_INPUT_INVALID', `${this.#what}: ${field}: ${reason}`);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#all, name);
  }

  text(name: string): string {
    const value = this.own(name);
    if (typeof value !== 'string' || value.length > 1_000_000) throw this.invalid(name, 'is no text');
    return value;
  }

  texts(name: string, most: number): string[] {
    const value = this.own(name);
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
      throw this.invalid(name, 'is not a list of texts');
    if (value.length > most) throw this.invalid(name, `has ${value.length} entries, at most ${most}`);
    return value;
  }

  flag(name: string): boolean {
    const value = this.own(name);
    if (typeof value !== 'boolean') throw this.invalid(name, 'is neither true nor false');
    return value;
  }

  number(name: string, min: number, max: number): number {
    const value = this.own(name);
    if (typeof value === 'number' && value >= min && value <= max) return value;
    throw this.invalid(name, `is no number from ${min} to ${max}`);
  }

  param(): number | string | null {
    if (!this.has('param')) return null;
    const value = this.own('param') as { number?: unknown; label?: unknown } | null;
    if (typeof value?.label === 'string') return value.label;
    if (typeof value?.number === 'string') return Number(value.number);
    throw this.invalid('param', 'is neither a number nor a label');
  }

  own(name: string): unknown {
    return this.has(name) ? this.#all[name] : undefined;
  }
}
