import type { KubeObject } from '../api/meta.ts';
import type { ControllerInput } from './input.ts';

export function renderController(_input: ControllerInput): KubeObject[] {
  return [];
}
