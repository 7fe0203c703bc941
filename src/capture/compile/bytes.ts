import { OperatorError } from '../../base/errors.ts';

const factors: Record<string, number> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** Bytes of a number or a Kubernetes quantity without fraction, such as `2Gi`. Errors: ERR_INPUT_INVALID. */
export function parseBytes(value: number | string): number {
  const match = /^([0-9]+)(Ki|Mi|Gi|Ti|k|M|G|T)?$/.exec(String(value));
  if (!match) throw new OperatorError('ERR_INPUT_INVALID', `${JSON.stringify(value)} is not a size such as 2Gi`);
  return Number(match[1]) * factors[match[2] ?? '']!;
}
