import type { KubeObject } from '../../../api/meta.ts';
import { errorText } from '../../../base/errors.ts';
import { flagOf, readSettings } from '../../../base/settings.ts';
import type { CompileEnvironment } from '../../../capture/index.ts';
import { operatorSettingTable, platformInput } from '../../../controllers/operator-settings.ts';
import { instrumentVersion, names } from '../../../render/index.ts';
import { named, type ClusterView } from './view.ts';

export interface OperatorEnvironment {
  readonly environment: CompileEnvironment;
  /**
   * Why the operator's own settings are unknown and the defaults of a new installation are used instead; null when they
   * are known.
   */
  readonly assumed: string | null;
}

/** The environment that the operator compiles with, from the arguments in its Deployment. Pure. */
export function operatorEnvironment({
  namespace,
  deployments,
}: Pick<ClusterView, 'namespace' | 'deployments'>): OperatorEnvironment {
  const deployment = named(deployments, names.controller);
  if (!deployment) {
    const why = deployments.fault ?? `there is no Deployment ${names.controller}`;
    return { environment: environmentOf(namespace, []), assumed: why };
  }
  try {
    return { environment: environmentOf(namespace, argumentsOf(deployment)), assumed: null };
  } catch (error) {
    return {
      environment: environmentOf(namespace, []),
      assumed: `Deployment ${names.controller}: ${errorText(error)}`,
    };
  }
}

/** The image that the operator's Deployment names. */
export function operatorImage(deployment: KubeObject): string | undefined {
  return containerOf(deployment)?.image;
}

interface Container {
  name?: string;
  image?: string;
  args?: string[];
}

function containerOf(deployment: KubeObject): Container | undefined {
  const spec = deployment['spec'] as { template?: { spec?: { containers?: Container[] } } } | undefined;
  const containers = spec?.template?.spec?.containers ?? [];
  return containers.find((c) => c.name === 'controller') ?? containers[0];
}

function argumentsOf(deployment: KubeObject): readonly string[] {
  return containerOf(deployment)?.args ?? [];
}

function environmentOf(namespace: string, args: readonly string[]): CompileEnvironment {
  const given = new Map(
    args.flatMap((arg) => {
      const at = arg.indexOf('=');
      // The kubelet expands `$(…)`. Of such values, the compile needs only the namespace, which is known.
      return at > 0 && !arg.includes('$(') ? [[arg.slice(0, at), arg.slice(at + 1)] as const] : [];
    }),
  );
  const flags = Object.fromEntries(
    Object.keys(operatorSettingTable).flatMap((key) => {
      const text = given.get(flagOf(key));
      return text === undefined ? [] : [[key, text] as const];
    }),
  );
  const settings = readSettings(operatorSettingTable, { flags, env: {}, prefix: 'SVC_' });
  return {
    instrumentVersion: instrumentVersion(platformInput(settings)),
    namespace,
    ports: settings.obiInstrumentPorts,
    allowExtraConfig: settings.allowExtraConfig,
  };
}
