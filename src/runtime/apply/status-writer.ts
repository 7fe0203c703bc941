import type { KubeObject } from '../../api/meta.ts';
import type { Informer } from '../types.ts';
import { isNotFound, type KubeClient, type TypedObject } from '../../kube/index.ts';
import { keyOf } from '../keys.ts';
import { ownsExactly } from './managed-fields.ts';

/** The field manager that writes statuses, and the cache that shows whether the live status differs. */
export interface StatusWriterOptions<T extends TypedObject> {
  client: KubeClient;
  /**
   * `<component>/<controller>`: owns the fields that it writes and no others, so that several controllers can share one
   * status.
   */
  fieldManager: string;
  informer: Informer<T>;
}

/**
 * Writes the status of an object by server-side apply on its status subresource.
 *
 * Guarantees: no request is sent when the live status already has exactly these values; fields of other managers stay;
 * there is no version to conflict with, so nothing is lost to a race; fields of an earlier status that are now left out
 * are removed.
 * Caveats: `status` must be complete for this manager: the apply removes every field that is left out.
 * Errors: those of the apply; a deleted object is not an error.
 */
export class StatusWriter<T extends TypedObject> {
  readonly #options: StatusWriterOptions<T>;

  constructor(options: StatusWriterOptions<T>) {
    this.#options = options;
  }

  /** Returns whether anything was written. */
  async write(object: T, status: object, options: { signal: AbortSignal }): Promise<boolean> {
    const { client, fieldManager, informer } = this.#options;
    const { resource } = informer.source;
    const wanted: KubeObject = {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: keyOf(object),
      status: JSON.parse(JSON.stringify(status)) as unknown,
    };
    const live = informer.get(keyOf(object));
    if (live && ownsExactly(live, wanted, fieldManager, 'status')) return false;
    // The uid prevents the status from being written to a new object of the same name.
    if (object.metadata.uid) wanted.metadata.uid = object.metadata.uid;
    try {
      const written = await client.applyStatus(resource, wanted, { fieldManager, force: true, signal: options.signal });
      informer.wrote(written as T);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}
