import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LuaFactory } from 'wasmoon';
import type { KubeObject } from '../../api/meta.ts';

/** The result of our health script for Argo CD. */
export interface ArgoHealth {
  status: 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended';
  message: string;
}

/** The interpreter, compiled at its first use. Each run has a Lua state of its own. */
let interpreter: LuaFactory | undefined;
const script = join(import.meta.dirname, '../../../config/argocd/health.lua');

/**
 * Runs our health script on an object, as Argo CD does: the script reads the object from the global `obj` and returns a
 * table. The Lua interpreter here is not that of Argo CD; `make e2e-peers` compares both.
 * Errors: those of the script.
 */
export async function argoHealth(object: KubeObject): Promise<ArgoHealth> {
  interpreter ??= new LuaFactory();
  const engine = await interpreter.createEngine();
  try {
    const source = `obj = ${toLua(object)}\n${await readFile(script, 'utf8')}`;
    const { status, message } = (await engine.doString(source)) as ArgoHealth;
    return { status, message };
  } finally {
    engine.global.close();
  }
}

/** Plain data as a Lua expression: a table, as Argo CD passes it, not a proxy of a JavaScript object. */
export function toLua(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'string') return luaText(value);
  if (Array.isArray(value)) return `{${value.map(toLua).join(',')}}`;
  const members = Object.entries(value).map(([name, member]) => `[${luaText(name)}]=${toLua(member)}`);
  return `{${members.join(',')}}`;
}

/** A Lua string literal. Every byte is a decimal escape, which is valid for any string. */
function luaText(text: string): string {
  return `"${[...Buffer.from(text)].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('')}"`;
}
