const ends = ['src', 'dst'].flatMap((end) => [
  `${end}.address`,
  `${end}.port`,
  `${end}.name`,
  `${end}.zone`,
  `${end}.cidr`,
  `k8s.${end}.*`,
  `k8s.${end}.name`,
  `k8s.${end}.type`,
  `k8s.${end}.namespace`,
  `k8s.${end}.node.name`,
  `k8s.${end}.node.ip`,
  `k8s.${end}.owner.name`,
  `k8s.${end}.owner.type`,
]);

/**
 * The attributes that a flow can have. The instrument ignores unknown names silently, so a policy that has a name
 * outside this list is refused.
 */
export const flowAttributes: readonly string[] = [
  ...ends,
  'client.port',
  'direction',
  'iface',
  'iface.direction',
  'network.type',
  'obi.ip',
  'server.port',
  'transport',
].toSorted();
