import { parseInstrumentConfig, readInstrumentConfig, StartError } from './config.ts';

const base = `
metrics: {features: [application]}
discovery: {instrument: [{open_ports: "8080"}]}
otel_metrics_export: {endpoint: "http://127.0.0.1:4318", interval: 10s}
`;

test('the stand-in accepts unknown keys and features, as the real instrument does', () => {
  const text = `${base}\nsome_new_key: 5\nlog_level: INFO\n`.replace('[application]', '[application, no_such_feature]');
  expect(parseInstrumentConfig(text, {})).toMatchObject({
    include: [{ open_ports: '8080' }],
    metricsEndpoint: 'http://127.0.0.1:4318',
    metricsIntervalMs: 10_000,
    tracesEndpoint: null,
    application: true,
  });
});

test.each([
  ['broken YAML', 'metrics: [', 'yaml:'],
  ['a wrong type', base.replace('[{open_ports: "8080"}]', '8080'), 'cannot unmarshal'],
  [
    'a value that is not allowed',
    `${base}\nnetwork: {source: magic}`,
    "Field validation for 'Source' failed on the 'oneof' tag",
  ],
  ['a file without a feature', base.replace('[application]', '[]'), 'at least one of application, network or stats'],
  ['a file without an exporter', base.replace('endpoint: "http://127.0.0.1:4318", ', ''), 'at least one exporter'],
])('%s ends the stand-in for the instrument at its start', (_what, text, message) => {
  expect(() => parseInstrumentConfig(text, {})).toThrow(StartError);
  expect(() => parseInstrumentConfig(text, {})).toThrow(message);
});

test('a missing file ends the stand-in for the instrument at its start', () => {
  expect(() => readInstrumentConfig('/nowhere/config.yaml', {})).toThrow("can't open /nowhere/config.yaml");
});

test('OTEL_EBPF_ENFORCE_SYS_CAPS enforces capabilities even if the file does not', () => {
  expect(parseInstrumentConfig(base, { OTEL_EBPF_ENFORCE_SYS_CAPS: 'true' }).enforceSysCaps).toBe(true);
  expect(parseInstrumentConfig(base, {}).enforceSysCaps).toBe(false);
});
