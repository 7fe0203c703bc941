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
 * The matchers of a workload's series, by its kind (`k8s_deployment_name`). The kind may come from a link: a kind that
 * is not a plain word counts as a pod, so a link cannot inject PromQL.
 */
export function workloadMatchers(namespace: string, workload: string, kind: string): string {
  const label = kind === 'Pod' || !/^[A-Za-z]{1,63}$/.test(kind) ? 'k8s_pod_name' : `k8s_${kind.toLowerCase()}_name`;
  return `k8s_namespace_name=${JSON.stringify(namespace)}, ${label}=${JSON.stringify(workload)}`;
}
