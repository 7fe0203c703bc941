import { FlowWatch, parseSockets, type FlowEnd, type Socket } from './flow-watch.ts';

const checkout: FlowEnd = {
  namespace: 'shop',
  pod: 'checkout-1',
  node: 'node-1',
  ownerName: 'checkout',
  ownerType: 'Deployment',
};
const catalog: FlowEnd = { ...checkout, pod: 'catalog-1', node: 'node-2', ownerName: 'catalog' };
const ends: Record<number, FlowEnd> = { 1: checkout, 2: catalog };
const owners = ['direction', 'k8s.src.owner.name', 'k8s.dst.owner.name'];

/** Both sockets of a connection on which checkout sent `asked` bytes to catalog, and got `answered` bytes back. */
function connection(asked: number, answered: number, port = 40_000): Socket[] {
  const [client, server] = [`10.0.0.1:${port}`, '10.0.0.2:8080'];
  return [
    { local: client, peer: server, pid: 1, sent: asked, received: answered },
    { local: server, peer: client, pid: 2, sent: answered, received: asked },
  ];
}

async function flowsOf(node: string, looks: readonly Socket[][], include = owners): Promise<Record<string, number>> {
  const watch = new FlowWatch({ node, include, endOf: (pid) => Promise.resolve(ends[pid] ?? null) });
  for (const sockets of looks) await watch.look(sockets, 1e9);
  const data = watch.metric(2e9)?.data;
  const points = data?.kind === 'sum' ? data.points : [];
  return Object.fromEntries(
    points.map(({ attributes, value }) => [
      attributes.map(({ key, value: text }) => `${key}=${String(text)}`).join(' '),
      value,
    ]),
  );
}

test('one direction of a connection counts the bytes of requests, the other those of responses', async () => {
  expect(await flowsOf('node-1', [connection(100, 900)])).toEqual({
    'direction=request k8s.src.owner.name=checkout k8s.dst.owner.name=catalog': 100,
    'direction=response k8s.src.owner.name=catalog k8s.dst.owner.name=checkout': 900,
  });
});

test('counts grow from one look at the sockets to the next, also with a new connection of the same ends', async () => {
  const looks = [connection(100, 900), connection(150, 1000), connection(30, 40), connection(1, 1, 40_001)];
  expect(Object.values(await flowsOf('node-2', looks))).toEqual([150 + 30 + 1, 1000 + 40 + 1]);
});

test('a node reports the flows that have an end on it, and no others', async () => {
  expect(await flowsOf('node-3', [connection(100, 900)])).toEqual({});
  expect(Object.keys(await flowsOf('node-2', [connection(100, 900)]))).toHaveLength(2);
});

test('a look at the sockets asks once for the pod of a process, and not if its connections are idle', async () => {
  const asked: number[] = [];
  const endOf = (pid: number): Promise<FlowEnd | null> => {
    asked.push(pid);
    return Promise.resolve(ends[pid] ?? null);
  };
  const watch = new FlowWatch({ node: 'node-1', include: owners, endOf });
  const still = connection(100, 900, 40_001);
  for (const moving of [connection(1, 2), connection(1, 2), connection(3, 2)])
    await watch.look([...moving, ...still], 1);
  expect(asked).toEqual([1, 2, 1, 2]);
});

test('only the selected attributes are sent, and a pattern selects all that it matches', async () => {
  expect(Object.keys(await flowsOf('node-1', [connection(1, 0)], ['k8s.*.node.name']))).toEqual([
    'k8s.src.node.name=node-1 k8s.dst.node.name=node-2',
  ]);
  const keys = Object.keys(await flowsOf('node-1', [connection(1, 0)], ['k8s.src.*']));
  expect(keys).toEqual([
    'k8s.src.namespace=shop k8s.src.name=checkout-1 k8s.src.type=Pod k8s.src.owner.name=checkout k8s.src.owner.type=Deployment k8s.src.node.name=node-1',
  ]);
});

test('a line of ss gives addresses, process and payload bytes; lines without a process are left out', () => {
  const line = (pid: string): string =>
    `ESTAB 0 0 [::ffff:10.0.0.1]:8080 10.0.0.2:41000 users:(("node",${pid}fd=21)) cubic bytes_sent:2769 bytes_acked:2769 bytes_received:275 segs_out:16`;
  expect(
    parseSockets(`${line('pid=4711,')}\n${line('')}\nLISTEN 0 511 0.0.0.0:80 0.0.0.0:* users:(("x",pid=1,fd=3))\n`),
  ).toEqual([{ local: '10.0.0.1:8080', peer: '10.0.0.2:41000', pid: 4711, sent: 2769, received: 275 }]);
});
