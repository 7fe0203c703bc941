import { Option, type Command } from 'commander';

/**
 * Flags of every command, with the meaning that kubectl gives them; `--operator-namespace` and those of the query
 * server are our own.
 */
export interface CommonFlags {
  namespace?: string;
  allNamespaces: boolean;
  kubeconfig?: string;
  context?: string;
  as?: string;
  operatorNamespace: string;
  server?: string;
  token?: string;
  certificateAuthority?: string;
  tlsServerName?: string;
  insecureSkipTlsVerify: boolean;
}

const defaultOperatorNamespace = 'svc-system';

/**
 * The common flags among these values. A value that is empty, of a flag or of its variable, counts as not given, as for
 * kubectl. Pure.
 */
export function commonFlags(values: Readonly<Record<string, unknown>>): CommonFlags {
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '' && value !== undefined));
  return {
    allNamespaces: false,
    insecureSkipTlsVerify: false,
    operatorNamespace: defaultOperatorNamespace,
    ...given,
  };
}

export function addCommonFlags(program: Command): void {
  program
    .optionsGroup('Cluster:')
    .option('-n, --namespace <name>', 'namespace to look at (default: that of the context)')
    .option('-A, --all-namespaces', 'look at all namespaces', false)
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig to use')
    .option('--as <user>', 'act as this user towards the API server')
    .addOption(
      new Option('--operator-namespace <name>', 'namespace that the operator runs in')
        .default(defaultOperatorNamespace)
        .env('SVC_NAMESPACE'),
    )
    .optionsGroup('Query server (default: a port-forward to one of its pods):')
    .addOption(new Option('--server <url>', 'https URL of the query server').env('SVC_SERVER'))
    .addOption(
      new Option('--token <token>', "bearer token for --server (default: that of the kubeconfig's user)").env(
        'SVC_TOKEN',
      ),
    )
    .option('--certificate-authority <file>', "whom to trust (default: the authority in the operator's ConfigMap)")
    .option('--tls-server-name <name>', "name to find in the server's certificate, where it is not that of the URL")
    .option('--insecure-skip-tls-verify', 'trust any certificate; the token of the kubeconfig is not sent then', false);
}
