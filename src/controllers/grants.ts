import { names } from '../render/index.ts';

/**
 * The commands that give the operator a permission which an installation does not grant everywhere. Each works with the
 * permissions of the namespace's own administrator. Pure; the texts go into conditions.
 */

const account = (operatorNamespace: string): string => `--serviceaccount=${operatorNamespace}:${names.controller}`;

/** Grants the rights that minters need, in one namespace. */
export function grantMinters(namespace: string, operatorNamespace: string): string {
  const name = names.minterManager;
  return `kubectl create rolebinding ${name} -n ${namespace} --clusterrole=${name} ${account(operatorNamespace)}`;
}

/** Grants reading one Secret, by name. */
export function grantSecret(namespace: string, secret: string, operatorNamespace: string): string {
  const name = `${names.controller}-${secret}`;
  return (
    `kubectl create role ${name} -n ${namespace} --verb=get --resource=secrets --resource-name=${secret} && ` +
    `kubectl create rolebinding ${name} -n ${namespace} --role=${name} ${account(operatorNamespace)}`
  );
}
