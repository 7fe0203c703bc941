/** Labels that agents add to series. */

/** The node on which a series was captured; agents add it where it is absent. */
export const nodeLabel = 'k8s_node_name';
/** The namespace of the pod that a series belongs to. */
export const namespaceLabel = 'k8s_namespace_name';
