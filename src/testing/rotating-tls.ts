import type { TlsMaterial, TlsSource } from '../net/tls-material.ts';

/** An identity that a test replaces by hand, as a mounted Secret is replaced while a server runs. */
export class RotatingTls implements TlsSource {
  generation = 1;
  current: TlsMaterial;
  readonly #listeners = new Set<(material: TlsMaterial) => void>();

  constructor(current: TlsMaterial) {
    this.current = current;
  }

  rotate(next: TlsMaterial): void {
    this.current = next;
    this.generation++;
    for (const listener of this.#listeners) listener(next);
  }

  onChange(fn: (material: TlsMaterial) => void): () => void {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }
}
