import { valueText } from '../mapping/label-set.ts';
import type { Attribute } from '../otlp/model.ts';

/** How long a Resource stays in doubt after its last point. Units: ms. */
const doubtMs = 900_000;
const kept = 10_000;
/** What the instrument adds to the Resource of spans alone. */
const ofSpans: ReadonlySet<string> = new Set(['otel.scope.name', 'span.metrics.skip']);

/**
 * Resources whose points came from another pod than they name. Points carry the instance that the instrument knows;
 * spans have only their Resource, so the same Resource on spans cannot be believed either.
 */
export class ForgedResources {
  readonly #notedMs = new Map<string, number>();
  #newestMs = 0;

  note(resource: readonly Attribute[], nowMs: number): void {
    const key = keyOf(resource);
    this.#newestMs = nowMs;
    this.#notedMs.delete(key);
    this.#notedMs.set(key, nowMs);
    if (this.#notedMs.size > kept) this.#notedMs.delete(this.#notedMs.keys().next().value!);
  }

  has(resource: readonly Attribute[]): boolean {
    if (this.#notedMs.size === 0) return false;
    const notedMs = this.#notedMs.get(keyOf(resource));
    return notedMs !== undefined && notedMs > this.#newestMs - doubtMs;
  }
}

function keyOf(resource: readonly Attribute[]): string {
  return resource
    .filter(({ key }) => !ofSpans.has(key))
    .map(({ key, value }) => `${key}\u0000${valueText(value)}`)
    .sort()
    .join('\u0001');
}
