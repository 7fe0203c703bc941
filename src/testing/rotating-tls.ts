import type { TlsMaterial, TlsSource } from '../net/tls-material.ts';

/** TLS material that a test replaces, like a mounted Secret that is replaced while a server runs. */
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
