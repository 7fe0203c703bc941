/**
 * Labels of nodes that are none: such a node runs pods elsewhere, without a kernel, processes and folders of its own. No
 * agent can start there, and each would count as missing for good.
 */
const virtualNodes = { 'eks.amazonaws.com/compute-type': 'fargate', type: 'virtual-kubelet' };

/** The part of a DaemonSet's pod that puts it on every Linux node, whatever its taints, except virtual ones. */
export const everyNode = {
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          {
            matchExpressions: Object.entries(virtualNodes).map(([key, value]) => {
              return { key, operator: 'NotIn', values: [value] };
            }),
          },
        ],
      },
    },
  },
  tolerations: [{ operator: 'Exists' }],
};
