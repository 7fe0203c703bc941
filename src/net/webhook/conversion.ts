import type { KubeObject } from '../../api/meta.ts';
import { errorText, OperatorError } from '../../base/errors.ts';

/**
 * Converts an object to another version of its kind. Must be pure, must not lose data that the other version can hold,
 * and must not change name, namespace, uid or any metadata except labels and annotations: the API server checks that.
 */
export type Converter = (object: KubeObject) => KubeObject;

/** `group/Kind` → `from version` → `to version` → converter. Equal versions need no converter. */
export type Converters = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Converter>>>>>>;

export interface ConversionRequest {
  uid: string;
  desiredAPIVersion: string;
  objects: readonly KubeObject[];
}

/** Reads a `ConversionReview` of apiextensions.k8s.io/v1. Errors: ERR_INPUT_INVALID that names the field. */
export function readConversionReview(body: unknown): ConversionRequest {
  const review = (body ?? {}) as { apiVersion?: unknown; kind?: unknown; request?: unknown };
  if (review.apiVersion !== 'apiextensions.k8s.io/v1' || review.kind !== 'ConversionReview') {
    throw new OperatorError('ERR_INPUT_INVALID', 'apiVersion, kind: not a ConversionReview of apiextensions.k8s.io/v1');
  }
  const { uid, desiredAPIVersion, objects } = (review.request ?? {}) as Record<string, unknown>;
  if (typeof uid !== 'string' || uid === '') throw new OperatorError('ERR_INPUT_INVALID', 'request.uid: missing');
  if (typeof desiredAPIVersion !== 'string') {
    throw new OperatorError('ERR_INPUT_INVALID', 'request.desiredAPIVersion: missing');
  }
  if (!Array.isArray(objects)) throw new OperatorError('ERR_INPUT_INVALID', 'request.objects: not a list');
  return { uid, desiredAPIVersion, objects: objects as KubeObject[] };
}

/** The answer to a review: all objects converted, or one failure that names the object. */
export function conversionAnswer(request: ConversionRequest, converters: Converters): object {
  const answer = (response: object): object => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    response: { uid: request.uid, ...response },
  });
  try {
    const convertedObjects = request.objects.map((object) => convert(object, request.desiredAPIVersion, converters));
    return answer({ result: { status: 'Success' }, convertedObjects });
  } catch (error) {
    return answer({ result: { status: 'Failure', message: errorText(error) }, convertedObjects: [] });
  }
}

/** One object in the requested version. Errors: ERR_INPUT_INVALID when there is no converter. */
export function convert(object: KubeObject, desiredAPIVersion: string, converters: Converters): KubeObject {
  if (object.apiVersion === desiredAPIVersion) return object;
  const [group = '', from = ''] = object.apiVersion.split('/');
  const [toGroup, to = ''] = desiredAPIVersion.split('/');
  const converter = toGroup === group ? converters[`${group}/${object.kind}`]?.[from]?.[to] : undefined;
  if (!converter) {
    const name = `${object.kind} ${object.metadata?.name ?? ''}`;
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `${name}: no converter from ${object.apiVersion} to ${desiredAPIVersion}`,
    );
  }
  return { ...converter(object), apiVersion: desiredAPIVersion, kind: object.kind };
}
