import { RE2JS } from 're2js';

/** The most patterns whose programs are found again. */
const mostKnown = 256;
/** Programs by flags and pattern, the oldest first. */
const known = new Map<string, WeakRef<RE2JS>>();

/**
 * Compiles a pattern of RE2. A program that is still in use is returned again: one request may have the same pattern in
 * thousands of matchers, and compiling cannot be interrupted.
 * Guarantees: in one turn of the event loop, each of the last 256 patterns is compiled once.
 * Errors: those of `RE2JS.compile`.
 */
export function compileOnce(pattern: string, flags = 0): RE2JS {
  const key = `${flags} ${pattern}`;
  const used = known.get(key)?.deref();
  if (used !== undefined) return used;
  const compiled = RE2JS.compile(pattern, flags);
  known.delete(key);
  // A weak reference keeps its target until the turn ends; after that, only its users do.
  known.set(key, new WeakRef(compiled));
  if (known.size > mostKnown) known.delete(known.keys().next().value!);
  return compiled;
}
