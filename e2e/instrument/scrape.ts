export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The series of one metric on a page in the text format. */
export async function seriesOf(url: string, name: string): Promise<Series[]> {
  const page = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  const lines = (await page.text()).split('\n').filter((line) => line.startsWith(`${name}{`));
  return lines.map((line) => {
    const close = line.lastIndexOf('}');
    const pairs = line.slice(name.length + 1, close).matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g);
    return {
      labels: Object.fromEntries([...pairs].map(([, key, value]) => [key!, value!])),
      value: Number(
        line
          .slice(close + 1)
          .trim()
          .split(' ')[0],
      ),
    };
  });
}
