/**
 * The TrafficMonitor that captures one workload by its usual label. Names are quoted, so that `123` stays a text. Pure.
 */
export function monitorYaml(namespace: string, workload: string): string {
  const name = JSON.stringify(workload);
  return `apiVersion: svc.dev/v1alpha1
kind: TrafficMonitor
metadata:
  name: ${name}
  namespace: ${JSON.stringify(namespace)}
spec:
  # Put the labels of the pods here, if they are others.
  selector:
    matchLabels:
      app: ${name}
`;
}

/**
 * The matchers of a workload's series, by the labels that the server's summaries are grouped by: of many kinds of
 * owners, agents write no other label. A pod without an owner is its own workload. Quoted, because a link may bring
 * all three.
 */
export function workloadMatchers(namespace: string, workload: string, kind: string): string {
  const [ns, name, of] = [namespace, workload, kind].map((text) => JSON.stringify(text));
  const owner = kind === 'Pod' ? `k8s_owner_name="", k8s_pod_name=${name}` : `k8s_owner_name=${name}, k8s_kind=${of}`;
  return `k8s_namespace_name=${ns}, ${owner}`;
}
