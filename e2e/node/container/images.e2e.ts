import { commandLine, findImage, imageName } from './images.ts';

test.each([
  ['svc-operator:0.1.0', 'svc-operator'],
  ['registry.example:5000/team/svc-minter', 'svc-minter'],
  ['otel/ebpf-instrument:v0.10.0@sha256:abc', 'ebpf-instrument'],
])('takes the name out of %s', (reference, name) => {
  expect(imageName(reference)).toBe(name);
});

const images = { 'svc-operator': { entrypoint: ['/node', '/svc.ts'] } };
const image = images['svc-operator'];
const container = { name: 'c', image: 'svc-operator:0.1.0', args: ['agent'] };

test.each([
  ['the entry point of the image if there is no command', undefined, ['/node', '/svc.ts', 'agent']],
  [
    'the entry point of the image if the command is `svc`, which stands for it',
    ['svc', '--x'],
    ['/node', '/svc.ts', '--x', 'agent'],
  ],
  ['a program on a volume', ['/pods/1/volumes/x/ld.so', 'a'], ['/pods/1/volumes/x/ld.so', 'a', 'agent']],
  ['plain node', ['/nodejs/bin/node', 'a.js'], [process.execPath, 'a.js', 'agent']],
])('runs %s', (_name, command, expected) => {
  expect(commandLine(image, { ...container, ...(command ? { command } : {}) }, '/pods/1')).toEqual(expected);
});

test('refuses a program that the image does not have', () => {
  expect(() => commandLine(image, { ...container, command: ['/bin/sh'] }, '/pods/1')).toThrow(
    '"/bin/sh": not in the image',
  );
});

test('refuses a foreign image by name', () => {
  expect(() => findImage(images, 'redis:8')).toThrow(/ImageUnsupported.*"redis:8"/);
});
