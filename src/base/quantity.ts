import { decimalSource } from './text/decimal.ts';

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const quantity = new RegExp(`^([+-]?${decimalSource})([a-zA-Z]{0,2})$`);

/**
 * A Kubernetes quantity as a number: `100m` → 0.1, `64Mi` → 67108864; undefined for a text that is not a quantity.
 * Source: Kubernetes' `resource.Quantity`.
 */
export function parseQuantity(value: unknown): number | undefined {
  const found = quantity.exec(String(value));
  const unit = suffixes[found?.[2] ?? '-'];
  return unit === undefined ? undefined : Number(found![1]) * unit;
}
