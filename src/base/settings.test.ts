import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  flagOf,
  integerSetting,
  portSetting,
  readSettings,
  textSetting,
  variableOf,
} from './settings.ts';

const table = {
  nodeName: textSetting({ help: 'name of this node' }, /^[a-z0-9.-]+$/, 'a node name'),
  scrapePort: portSetting({ help: 'scrape port', default: '9090' }),
  loopbackExempt: booleanSetting({ help: 'exempt loopback', default: 'true' }),
  retentionTime: durationSetting({ help: 'retention', default: '24h' }),
  onLimit: choiceSetting({ help: 'what to do', default: 'Drop' }, ['Drop', 'Aggregate']),
  replicas: integerSetting({ help: 'replicas', default: '2' }, 1, 5),
};
const read = (
  flags: Record<string, string>,
  env: Record<string, string> = {},
): ReturnType<typeof readSettings<typeof table>> => readSettings(table, { flags, env, prefix: 'SVC_' });

test('fills in defaults and parses every kind of setting', () => {
  expect(read({ nodeName: 'node-1' })).toEqual({
    nodeName: 'node-1',
    scrapePort: 9090,
    loopbackExempt: true,
    retentionTime: 86_400_000,
    onLimit: 'Drop',
    replicas: 2,
  });
});

test('a flag beats its variable, which beats the default', () => {
  expect(read({ nodeName: 'a', scrapePort: '1' }, { SVC_SCRAPE_PORT: '2', SVC_REPLICAS: '3' })).toMatchObject({
    scrapePort: 1,
    replicas: 3,
  });
});

test('a settings file overrides defaults but not variables, and an error in it names the file', () => {
  const file = (values: Record<string, string>): unknown =>
    readSettings(table, {
      flags: { nodeName: 'a', replicas: '1' },
      env: { SVC_SCRAPE_PORT: '2', SVC_RETENTION_TIME: '' },
      file: { name: '/etc/svc.yaml', values },
      prefix: 'SVC_',
    });
  expect(file({ replicas: '5', scrapePort: '5', retentionTime: '1h' })).toMatchObject({
    replicas: 1,
    scrapePort: 2,
    retentionTime: 3_600_000,
  });
  expect(() => file({ onLimit: 'Stop' })).toThrow('on-limit in /etc/svc.yaml: "Stop" is not one of Drop, Aggregate');
});

test('names flag and variable of a missing setting', () => {
  expect(() => read({})).toThrow('--node-name (or SVC_NODE_NAME) is required: name of this node');
});

test.each([
  [{ scrapePort: '70000' }, {}, '--scrape-port: "70000" is not a whole number from 0 to 65535'],
  [{ scrapePort: '9e3' }, {}, '--scrape-port: "9e3" is not'],
  [{}, { SVC_RETENTION_TIME: '1d' }, 'SVC_RETENTION_TIME: value: "1d" is not a duration'],
  [{ loopbackExempt: 'yes' }, {}, '--loopback-exempt: "yes" is neither true nor false'],
  [{ onLimit: 'drop' }, {}, '--on-limit: "drop" is not one of Drop, Aggregate'],
  [{ nodeName: 'A B' }, {}, '--node-name: "A B" is not a node name'],
])('refuses the flags %j with the variables %j', (flags, env, message) => {
  expect(() =>
    read({ nodeName: 'n', ...flags } as Record<string, string>, env as unknown as Record<string, string>),
  ).toThrow(message);
});

test('reports all faults at once', () => {
  expect(() => read({ scrapePort: 'x', replicas: '9' })).toThrow(/--node-name.*--scrape-port.*--replicas/);
});

test('derives flag and variable from the key', () => {
  expect([flagOf('otlpGrpcPort'), variableOf('otlpGrpcPort', 'SVC_')]).toEqual([
    '--otlp-grpc-port',
    'SVC_OTLP_GRPC_PORT',
  ]);
});
