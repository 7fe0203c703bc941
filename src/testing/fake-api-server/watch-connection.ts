import type { ServerResponse } from 'node:http';
import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import type { SeenRequest } from './faults.ts';
import { matchesFields, matchesLabels } from './selectors.ts';
import type { StatusError } from './status-error.ts';
import type { StoredEvent } from './storage.ts';

/** An object as the answer to a request for metadata alone holds it. Pure. */
export const metadataOf = ({ metadata }: Pick<KubeObject, 'metadata'>): KubeObject => ({
  apiVersion: 'meta.k8s.io/v1',
  kind: 'PartialObjectMetadata',
  metadata,
});

/** One open watch, which a test may disturb. */
export class WatchConnection {
  readonly request: SeenRequest;
  readonly resource: ResourceRef;
  readonly #response: ServerResponse;
  #silent = false;
  open = true;

  constructor(request: SeenRequest, resource: ResourceRef, response: ServerResponse) {
    this.request = request;
    this.resource = resource;
    this.#response = response;
    response.on('close', () => (this.open = false));
  }

  /** Whether the watch's namespace and selectors select the object. */
  selects(object: KubeObject): boolean {
    const { namespace, query } = this.request;
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    const labels = query.get('labelSelector');
    const fields = query.get('fieldSelector');
    return (!labels || matchesLabels(object, labels)) && (!fields || matchesFields(object, fields));
  }

  /** Sends a change as this watch sees it: DELETED if the object leaves the selection, ADDED if it enters. */
  deliver(event: StoredEvent): void {
    if (event.resource.plural !== this.resource.plural || event.resource.group !== this.resource.group) return;
    const now = event.type !== 'DELETED' && this.selects(event.object);
    const before = event.old !== undefined && this.selects(event.old);
    if (now) this.frame(before ? 'MODIFIED' : 'ADDED', event.object);
    else if (before) this.frame('DELETED', event.object);
  }

  frame(type: string, object: unknown): void {
    const shown = this.request.metadataOnly && type !== 'ERROR' ? metadataOf(object as KubeObject) : object;
    this.raw(`${JSON.stringify({ type, object: shown })}\n`);
  }

  bookmark(version: string, annotations?: Record<string, string>): void {
    const { apiVersion, kind } = this.resource;
    this.frame('BOOKMARK', {
      apiVersion,
      kind,
      metadata: { resourceVersion: version, ...(annotations ? { annotations } : {}) },
    });
  }

  error(status: StatusError): void {
    this.frame('ERROR', status.toStatus());
  }

  /** Sends bytes unchanged, such as half a frame, two frames, or a part of a character. */
  raw(bytes: string | Uint8Array): void {
    if (this.open && !this.#silent) this.#response.write(bytes);
  }

  /** From now on the connection stays open and sends nothing, like a half-open connection. */
  fallSilent(): void {
    this.#silent = true;
  }

  /** Ends the stream as the server does at its timeout. */
  end(): void {
    this.open = false;
    this.#response.end();
  }

  /** Cuts the connection (ECONNRESET). */
  reset(): void {
    this.open = false;
    this.#response.socket?.resetAndDestroy();
  }
}
