/** Permission levels, weakest first: write includes read. */
export const levels = ['read', 'write', 'admin'] as const;
export type Level = (typeof levels)[number];
/** Permission name → level. A Map, never an object, because callers choose the names. */
export type Permissions = ReadonlyMap<string, Level>;

export function isLevel(text: unknown): text is Level {
  return (levels as readonly unknown[]).includes(text);
}

/** The first requested permission that `allowed` lacks, or has only at a weaker level; null if there is none. */
export function uncovered(requested: Permissions, allowed: Permissions): string | null {
  for (const [name, level] of requested) {
    const ceiling = allowed.get(name);
    if (ceiling === undefined || levels.indexOf(level) > levels.indexOf(ceiling)) return name;
  }
  return null;
}
