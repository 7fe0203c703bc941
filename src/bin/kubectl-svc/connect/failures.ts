import { errorText, OperatorError } from '../../../base/errors.ts';
import { names } from '../../../render/names.ts';
import { PluginError } from '../errors.ts';

/** Where a failed request went, and the token that it carried. */
interface Way {
  readonly target: string;
  readonly token: string | undefined;
}

/** Why no answer came from `target`, and the remedy; `operatorNamespace` is where the operator publishes its authority. */
export function callFailure(
  cause: unknown,
  { target, operatorNamespace }: { readonly target: string; readonly operatorNamespace: string },
): OperatorError {
  if (cause instanceof OperatorError) return cause;
  const { code = '' } = cause as NodeJS.ErrnoException;
  const text = errorText(cause);
  const fail = (message: string, ...hints: string[]): PluginError =>
    new PluginError('ERR_API_REQUEST', `${target}: ${message}`, { hints, cause });
  if (untrusted.has(code))
    return fail(
      `its certificate is signed by an authority that is not trusted here (${text})`,
      "save the operator's authority and name it with --certificate-authority:",
      `kubectl -n ${operatorNamespace} get configmap ${names.caBundle} -o 'jsonpath={.data.ca\\.crt}' > ca.crt`,
    );
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return fail(text, 'if the address is right, name the host of the certificate with --tls-server-name');
  if (code === 'CERT_HAS_EXPIRED') return fail('its certificate has expired; is the clock of this machine right?');
  if (code === 'ECONNREFUSED') return fail('nothing listens there', 'without --server a port-forward is used');
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return fail(`no such host (${text})`);
  return fail(text);
}

const untrusted = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
]);

/** The query server refused a request with a status. */
export class RefusedError extends PluginError {
  readonly status: number;

  constructor(status: number, ...args: ConstructorParameters<typeof PluginError>) {
    super(...args);
    this.status = status;
  }
}

/** The error that stands for a refusal by the query server. `text` is the body of the refusal. */
export function statusFailure(status: number, text: string, { target, token }: Way): RefusedError {
  const message = `${target}: ${status} ${messageOf(text)}`;
  if (status === 401) {
    const hint =
      token === undefined
        ? 'give a token with --token, such as that of: kubectl create token <service account>'
        : 'the token is not, or no longer, valid';
    return new RefusedError(status, 'ERR_API_REQUEST', message, { hints: [hint] });
  }
  if (status === 403) {
    const hint =
      'bind the ClusterRole svc-promql-reader: kubectl create clusterrolebinding <name> --clusterrole=svc-promql-reader --user=<user>';
    return new RefusedError(status, 'ERR_API_FORBIDDEN', message, { hints: [hint] });
  }
  return new RefusedError(status, 'ERR_API_REQUEST', message);
}

/** The message of an error answer: its member `error` if it is JSON, else its first line. */
export function messageOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return error;
  } catch {
    // Not from our server: a proxy on the way answers in plain text.
  }
  return text.trim().split('\n')[0]!.slice(0, 300) || 'no reason given';
}
