import type { PodLogQuery } from '../../../kube/client.ts';
import { Bundle } from './bundle.ts';
import { addLogs } from './collect-logs.ts';
import { Redactor } from './redact/redactor.ts';

const { signal } = new AbortController();

/** A bundle with the log of one container, as an API server sends it. */
async function bundleOf(lines: readonly string[]): Promise<Bundle> {
  const podLog = async (_pod: object, { tailLines, limitBytes }: PodLogQuery): Promise<string> =>
    `${lines.slice(-tailLines!).join('\n')}\n`.slice(0, limitBytes);
  const pod = { metadata: {}, spec: { containers: [{ name: 'main' }] } } as never;
  const bundle = new Bundle(1e9);
  const own = { namespace: 'ns', name: 'a', component: 'agent', pod };
  await addLogs(bundle, { podLog }, [own], { redactor: new Redactor(() => true), sinceSeconds: 60, signal });
  return bundle;
}

test('when lines are too long for one answer, the newest are in the bundle', async () => {
  const lines = Array.from({ length: 6_000 }, (_, i) => `line ${i} ${'.'.repeat(3_000)}`);
  const { files } = await bundleOf(lines);
  expect(files.map(({ content }) => /line 5999 \.+\n$/.test(content.toString()))).toEqual([true]);
});

test('a last line that is too long for one answer is listed as absent', async () => {
  const { files, absent } = await bundleOf(['short', '.'.repeat(9 * 1024 * 1024)]);
  expect([files, absent]).toEqual([
    [],
    [{ what: 'logs/ns/a/main.log', why: 'its last line is longer than 8388608 bytes' }],
  ]);
});
