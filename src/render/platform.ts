import type { KubeObject } from '../api/meta.ts';
import type { PlatformInput } from './input.ts';

export function renderPlatform(_input: PlatformInput): KubeObject[] {
  return [];
}
