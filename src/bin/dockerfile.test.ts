import { readFileSync } from 'node:fs';

const lines = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8').split('\n');

test('every base image is named by digest', () => {
  const bases = lines.filter((line) => /^ARG (BUILDER|BASE)=/.test(line));
  expect(bases).toHaveLength(2);
  for (const base of bases) expect(base).toMatch(/^ARG \w+=[a-z0-9./:-]+@sha256:[0-9a-f]{64}$/);
  const stages = new Set(lines.flatMap((line) => /^FROM (?:--platform=\S+ )?\S+ AS (\w+)$/.exec(line)?.[1] ?? []));
  const from = lines.flatMap((line) => /^FROM (?:--platform=\S+ )?(\S+)/.exec(line)?.[1] ?? []);
  expect(from).toContain('${BASE}');
  expect(from.filter((name) => !['${BUILDER}', '${BASE}'].includes(name) && !stages.has(name))).toEqual([]);
});

test('no dependency runs a script of its own while an image is built', () => {
  const installs = lines.filter((line) => /^RUN .*\bnpm (ci|i|install|rebuild)\b/.test(line));
  expect(installs).toHaveLength(1);
  for (const line of installs) expect(line).toMatch(/ --ignore-scripts /);
});
