/**
 * The glob patterns of the instrument's selectors: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, and `\`, which makes the next
 * character a plain one. The whole text must match; no character is a separator.
 */
export function globMatches(pattern: string, text: string): boolean {
  return compile(pattern).test(text);
}

const compiled = new Map<string, RegExp>();

function compile(pattern: string): RegExp {
  let regexp = compiled.get(pattern);
  if (!regexp) {
    regexp = new RegExp(`^(?:${translate(pattern)})$`, 's');
    compiled.set(pattern, regexp);
  }
  return regexp;
}

function translate(pattern: string): string {
  let out = '';
  let depth = 0;
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    if (c === '*') out += '.*';
    else if (c === '?') out += '.';
    else if (c === '\\' && i + 1 < pattern.length) out += quote(pattern[++i]!);
    else if (c === '{') {
      depth++;
      out += '(?:';
    } else if (c === '}' && depth > 0) {
      depth--;
      out += ')';
    } else if (c === ',' && depth > 0) out += '|';
    else if (c === '[') {
      const end = pattern.indexOf(']', i + 2);
      if (end < 0) out += quote(c);
      else {
        const inside = pattern
          .slice(i + 1, end)
          .replace(/^!/, '^')
          .replaceAll('\\', '\\\\');
        out += `[${inside}]`;
        i = end;
      }
    } else out += quote(c);
  }
  return out + ')'.repeat(depth);
}

function quote(c: string): string {
  return c.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
}
