/** The request metrics that the numbers of workloads are made of. Without imports, so that the page takes it as it is. */

/** A matcher of PromQL. */
interface Matcher {
  readonly type: '=' | '!=' | '=~' | '!~';
  readonly name: string;
  readonly value: string;
}

/**
 * The label that marks the part of the query that a sample belongs to. Its value for a family's requests is the
 * family's `part`, for the family's failures the same with `!` appended, and for flows `flows`.
 */
export const partLabel = 'svc_part';

/** A histogram of request durations, as the agents store it. */
export interface RequestFamily {
  /** The value of `partLabel` on the samples of this histogram in an answer. */
  readonly part: string;
  /** The histogram's name without the suffix `_bucket` or `_count`. */
  readonly metric: string;
  /** Which side measured: the client's series also name the server. */
  readonly side: 'client' | 'server';
  /** The protocol, or the label whose value names it. */
  readonly protocol: string | { readonly label: string };
  /** Matches the series of failed requests. */
  readonly failed: Matcher;
}

const httpFailed: Matcher = { type: '=~', name: 'http_response_status_code', value: '5..' };
const rpcFailed: Matcher = { type: '!~', name: 'rpc_response_status_code', value: '(OK|0)?' };
/** v0.9 of the instrument uses this label name. */
const olderRpcFailed: Matcher = { ...rpcFailed, name: 'rpc_grpc_status_code' };
const errorType: Matcher = { type: '!=', name: 'error_type', value: '' };

export const requestFamilies: readonly RequestFamily[] = [
  { part: 'http-c', metric: 'http_client_request_duration', side: 'client', protocol: 'http', failed: httpFailed },
  { part: 'rpc-c', metric: 'rpc_client_call_duration', side: 'client', protocol: 'grpc', failed: rpcFailed },
  { part: 'rpc9-c', metric: 'rpc_client_duration', side: 'client', protocol: 'grpc', failed: olderRpcFailed },
  {
    ...{ part: 'db-c', metric: 'db_client_operation_duration', side: 'client', failed: errorType },
    protocol: { label: 'db_system_name' },
  },
  {
    ...{ part: 'msg-c', metric: 'messaging_client_operation_duration', side: 'client', failed: errorType },
    protocol: { label: 'messaging_system' },
  },
  { part: 'http-s', metric: 'http_server_request_duration', side: 'server', protocol: 'http', failed: httpFailed },
  { part: 'rpc-s', metric: 'rpc_server_call_duration', side: 'server', protocol: 'grpc', failed: rpcFailed },
  { part: 'rpc9-s', metric: 'rpc_server_duration', side: 'server', protocol: 'grpc', failed: olderRpcFailed },
];

export const flowMetric = 'ebpf_network_flow_bytes';
