import { names } from '../render/index.ts';

/**
 * The commands that give the operator a permission which an installation does not grant everywhere. The administrator
 * of a namespace has the permissions to run them there. Pure; the texts go into conditions.
 */

const account = (operatorNamespace: string): string => `--serviceaccount=${operatorNamespace}:${names.controller}`;

/** Grants the operator the rights to run minters (servers that give out GitHub tokens) in one namespace. */
export function grantMinters(namespace: string, operatorNamespace: string): string {
  const name = names.minterManager;
  return `kubectl create rolebinding ${name} -n ${namespace} --clusterrole=${name} ${account(operatorNamespace)}`;
}

/** Grants the operator the right to read one Secret, by name. */
export function grantSecret(namespace: string, secret: string, operatorNamespace: string): string {
  const name = `${names.controller}-${secret}`;
  return (
    `kubectl create role ${name} -n ${namespace} --verb=get --resource=secrets --resource-name=${secret} && ` +
    `kubectl create rolebinding ${name} -n ${namespace} --role=${name} ${account(operatorNamespace)}`
  );
}
