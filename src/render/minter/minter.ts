import type { KubeObject } from '../../api/meta.ts';
import type { MinterInput } from '../input.ts';
import { renderMinterDeployment, renderMinterDisruptionBudget, renderMinterService } from './deployment.ts';
import { minterNames, minterObject } from './names.ts';
import { renderMinterNetworkPolicy } from './network-policy.ts';
import { catchAllKey, renderMinterRules } from './rules.ts';
import { serviceAccount } from '../rights/rbac.ts';

/**
 * Every object of one MinterDeployment, all in its namespace and owned by it.
 * The order can be applied as it is: the NetworkPolicy exists before the first pod.
 */
export function renderMinter(input: MinterInput): KubeObject[] {
  return [
    ...renderMinterAccount(input),
    ...renderMinterRulesMap(input),
    renderMinterNetworkPolicy(input),
    renderMinterService(input),
    ...renderMinterDisruptionBudget(input),
    renderMinterDeployment(input),
  ];
}

function renderMinterAccount({ minter }: MinterInput): KubeObject[] {
  const { create, annotations } = minter.spec.serviceAccount;
  if (!create) return [];
  const { name = '', namespace = '' } = minter.metadata;
  const account = serviceAccount(
    'minter',
    { namespace, name: minterNames(minter).serviceAccount },
    { instance: name, ...(annotations ? { annotations } : {}) },
  );
  const { ownerReferences } = minterObject('ServiceAccount', minter, name, {}).metadata;
  return [{ ...account, metadata: { ...account.metadata, ...(ownerReferences ? { ownerReferences } : {}) } }];
}

/** The ConfigMap of inline rules; rules that the spec refers to stay where they are. */
function renderMinterRulesMap({ minter }: MinterInput): KubeObject[] {
  const { inline } = minter.spec.rules;
  if (!inline) return [];
  const data = { [catchAllKey]: renderMinterRules(minter.spec, inline) };
  return [minterObject('ConfigMap', minter, minterNames(minter).rules, { data })];
}
