import { parse } from 'yaml';
import { monitorYaml, workloadMatchers } from './monitor-yaml.ts';

test.each([
  ['Deployment', 'k8s_namespace_name="shop", k8s_owner_name="cart", k8s_kind="Deployment"'],
  ['StatefulSet', 'k8s_namespace_name="shop", k8s_owner_name="cart", k8s_kind="StatefulSet"'],
  ['CloneSet', 'k8s_namespace_name="shop", k8s_owner_name="cart", k8s_kind="CloneSet"'],
  ['Node', 'k8s_namespace_name="shop", k8s_owner_name="cart", k8s_kind="Node"'],
  ['Pod', 'k8s_namespace_name="shop", k8s_owner_name="", k8s_pod_name="cart"'],
  [
    'x"}) or vector(1) #',
    String.raw`k8s_namespace_name="shop", k8s_owner_name="cart", k8s_kind="x\"}) or vector(1) #"`,
  ],
])('a workload of kind %p is found by %s', (kind, matchers) => {
  expect(workloadMatchers('shop', 'cart', kind)).toBe(matchers);
});

test('names from a link cannot end the quoted strings of the selector', () => {
  expect(workloadMatchers('a"}', 'b\\', 'Pod')).toBe(
    'k8s_namespace_name="a\\"}", k8s_owner_name="", k8s_pod_name="b\\\\"',
  );
});

test('the monitor that the page offers to copy selects the pods of the workload in its namespace', () => {
  expect(parse(monitorYaml('shop', 'cart'))).toMatchObject({
    kind: 'TrafficMonitor',
    metadata: { name: 'cart', namespace: 'shop' },
    spec: { selector: { matchLabels: { app: 'cart' } } },
  });
});

test.each(['123', 'true', '1e3', 'null', '0x1f', '1.5', 'a: b'])(
  'the name %s is still a string in the YAML of the monitor to copy',
  (name) => {
    expect(parse(monitorYaml(name, name))).toMatchObject({
      metadata: { name, namespace: name },
      spec: { selector: { matchLabels: { app: name } } },
    });
  },
);
