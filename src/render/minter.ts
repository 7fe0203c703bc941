import type { KubeObject } from '../api/meta.ts';
import type { MinterInput } from './input.ts';

export function renderMinter(_input: MinterInput): KubeObject[] {
  return [];
}
