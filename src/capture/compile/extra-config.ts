import type { ClusterTrafficPolicySpec } from '../../api/v1alpha1/index.ts';
import { errorText } from '../../base/errors.ts';
import { builtinSettings } from '../instrument-yaml/builtin.ts';
import { ownedKey } from '../instrument-yaml/extra.ts';
import { renderInstrumentYaml } from '../instrument-yaml/render.ts';
import type { ExtraConfig } from '../instrument-yaml/settings.ts';
import type { CompileEnvironment, PolicyFinding } from './types.ts';

/** Size limits of a policy's extra keys, which are written into the instrument's file of every node. */
const maxDepth = 8;
const maxLeaves = 256;

/**
 * Why a policy's `instrument.extraConfig` may not go into the instrument's file, or null.
 * The checks, in this order: the operator permits extra keys; strings and sizes are safe; the operator does not write
 * the key itself; this version of the instrument accepts the file.
 */
export function extraConfigFinding(
  spec: ClusterTrafficPolicySpec,
  environment: Pick<CompileEnvironment, 'instrumentVersion' | 'allowExtraConfig'>,
): PolicyFinding | null {
  const extra = spec.instrument?.extraConfig;
  if (!extra || Object.keys(extra).length === 0) return null;
  const at = 'spec.instrument.extraConfig';
  if (!environment.allowExtraConfig) {
    return {
      reason: 'ExtraConfigNotAllowed',
      message: `${at}: the operator does not allow it; it must run with --allow-extra-config`,
    };
  }
  const invalid = (words: string): PolicyFinding => ({ reason: 'Invalid', message: `${at}${words}` });
  const fault = unsafe(extra, '', 0, { left: maxLeaves });
  if (fault) return invalid(fault);
  const owned = ownedKey(extra as ExtraConfig);
  if (owned) return invalid(`.${owned}: this key is written by the operator; use the fields of the API for it`);
  try {
    renderInstrumentYaml({
      ...builtinSettings({ instrumentVersion: environment.instrumentVersion }),
      extra: extra as ExtraConfig,
    });
  } catch (error) {
    return invalid(`: ${errorText(error).replace(/^instrument v[0-9.]+: /, '')}`);
  }
  return null;
}

/**
 * Finds text that the instrument would expand or that breaks out of a line, invalid keys, and structures beyond the
 * limits.
 */
function unsafe(value: unknown, path: string, depth: number, budget: { left: number }): string | null {
  if (depth > maxDepth) return `${path}: is nested too deeply`;
  if (--budget.left < 0) return `${path}: has too many members; at most ${maxLeaves} are allowed`;
  if (typeof value === 'string') {
    const bad = /[$\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/.test(value) || !value.isWellFormed();
    return bad || value.length > 1_024 ? `${path}: must be short text without $ and control characters` : null;
  }
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${path}: must be a finite number`;
  if (typeof value === 'boolean') return null;
  if (typeof value !== 'object' || value === null) return `${path}: must not be null`;
  for (const [key, member] of Object.entries(value)) {
    const next = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(key))
      return `${path}: ${JSON.stringify(key.slice(0, 80))} is not a valid key`;
    const fault = unsafe(member, next, depth + 1, budget);
    if (fault) return fault;
  }
  return null;
}
