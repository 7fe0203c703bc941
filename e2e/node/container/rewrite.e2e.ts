import { createRewriter } from './rewrite.ts';

const rewrite = createRewriter({
  mounts: [
    { mountPath: '/etc/svc', target: '/n/vol/etc/svc' },
    { mountPath: '/etc/svc/tls/', target: '/n/vol/tls' },
    { mountPath: '/var/lib/svc-agent', target: '/n/host/var/lib/svc-agent' },
  ],
  podIP: '198.18.1.7',
  loopback: '127.18.1.7',
  socketSuffix: '-abc',
});

test.each([
  [
    'replaces a mount path after an equals sign',
    '--data-dir=/var/lib/svc-agent',
    '--data-dir=/n/host/var/lib/svc-agent',
  ],
  ['keeps what follows the mount path', '/etc/svc/config.yaml', '/n/vol/etc/svc/config.yaml'],
  ['prefers the longest mount path', '/etc/svc/tls/tls.crt', '/n/vol/tls/tls.crt'],
  ['leaves a longer name alone', '/etc/svc-other/x', '/etc/svc-other/x'],
  ['leaves a path inside another alone', '/opt/etc/svc/x', '/opt/etc/svc/x'],
  ['leaves the path of a URL alone', 'https://host/etc/svc', 'https://host/etc/svc'],
  ['replaces the path of a file URL', 'file:///etc/svc/x', 'file:///n/vol/etc/svc/x'],
  ['replaces several paths in one text', '/etc/svc/a:/etc/svc/b', '/n/vol/etc/svc/a:/n/vol/etc/svc/b'],
  ['replaces the wildcard address by the address of the pod', '0.0.0.0:9090', '198.18.1.7:9090'],
  ['replaces the wildcard address of IPv6', '--bind-address=::', '--bind-address=198.18.1.7'],
  ['replaces the wildcard address of IPv6 as a whole value', '::', '198.18.1.7'],
  ['leaves other addresses of IPv6 alone', '::1 ::/0 fd00:: [::]:80 a::b', '::1 ::/0 fd00:: [::]:80 a::b'],
  ['replaces the loopback address by that of the pod', 'http://127.0.0.1:4318/v1', 'http://127.18.1.7:4318/v1'],
  ['leaves other addresses alone', '10.0.0.0/8 127.0.0.10 1127.0.0.1', '10.0.0.0/8 127.0.0.10 1127.0.0.1'],
  ['leaves localhost alone: it means the machine, not the pod', 'http://localhost:1', 'http://localhost:1'],
  ["appends the pod's suffix to an abstract socket", '@svc-obi-health', '@svc-obi-health-abc'],
])('%s', (_name, text, expected) => {
  expect(rewrite(text)).toBe(expected);
});

test('does nothing to paths when nothing is mounted', () => {
  const bare = createRewriter({ mounts: [], podIP: '1.1.1.1', loopback: '2.2.2.2', socketSuffix: '' });
  expect(bare('/etc/svc 0.0.0.0')).toBe('/etc/svc 1.1.1.1');
});
