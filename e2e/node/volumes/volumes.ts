import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { writeAtomically } from './atomic-folder.ts';
import type { Payload } from './atomic-folder.ts';
import { fieldValue, resourceValue } from './downward.ts';
import type { PodAddresses } from './downward.ts';
import type { ReadData } from '../container/environment.ts';
import type { DataKind } from '../object-cache.ts';
import type { TokenSource } from './tokens.ts';
import { WaitingError } from '../types.ts';
import type { Container, DownwardItem, KeyToPath, Pod, Projection, Volume } from '../types.ts';

export interface VolumeSettings {
  /** The pod's folder on this machine. */
  podDir: string;
  /** The root of the node's own disk, which outlives pods and even the death of the node. */
  hostDir: string;
  addresses: PodAddresses;
  read: ReadData;
  tokens: TokenSource;
}

/** The path of a volume on this machine. */
export function volumePath(volume: Volume, settings: VolumeSettings): string {
  if (volume.hostPath) return join(settings.hostDir, normalize(volume.hostPath.path));
  return join(settings.podDir, 'volumes', volume.name);
}

/**
 * Fills every volume of a pod from its sources. Called again whenever a source changed.
 * Errors: `WaitingError` ContainerCreating, with what is missing.
 */
export async function materialise(pod: Pod, settings: VolumeSettings): Promise<void> {
  for (const volume of pod.spec.volumes ?? []) {
    const path = volumePath(volume, settings);
    if (volume.hostPath) await prepareHostPath(volume.hostPath, path);
    else if (volume.emptyDir) await mkdir(path, { recursive: true });
    else await writeAtomically(path, await payloadOf(pod, volume, settings));
  }
}

/** The mounts of one container: where each mount path is on this machine. */
export function mountsOf(
  pod: Pod,
  container: Container,
  settings: VolumeSettings,
  expandPath: (text: string) => string,
): { mountPath: string; target: string }[] {
  return (container.volumeMounts ?? []).map((mount) => {
    const volume = pod.spec.volumes?.find((v) => v.name === mount.name);
    if (!volume) throw new WaitingError('CreateContainerConfigError', `volume "${mount.name}" not found`);
    const sub = mount.subPathExpr === undefined ? (mount.subPath ?? '') : expandPath(mount.subPathExpr);
    return { mountPath: mount.mountPath, target: join(volumePath(volume, settings), sub) };
  });
}

async function prepareHostPath(source: { path: string; type?: string }, path: string): Promise<void> {
  switch (source.type ?? '') {
    case '':
    case 'DirectoryOrCreate':
      await mkdir(path, { recursive: true });
      return;
    case 'FileOrCreate':
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '', { flag: 'a' });
      return;
    default:
      if (!existsSync(path)) {
        throw new WaitingError('ContainerCreating', `hostPath ${source.path} (${source.type}) does not exist`);
      }
  }
}

async function payloadOf(pod: Pod, volume: Volume, settings: VolumeSettings): Promise<Payload> {
  const files = new Map<string, { data: Uint8Array; mode: number }>();
  if (volume.configMap) {
    const { name, defaultMode = 0o644, ...rest } = volume.configMap;
    await addData(files, 'configmaps', { name, ...rest }, defaultMode, settings);
  } else if (volume.secret) {
    const { secretName, defaultMode = 0o644, ...rest } = volume.secret;
    await addData(files, 'secrets', { name: secretName, ...rest }, defaultMode, settings);
  } else if (volume.downwardAPI) {
    addDownward(files, pod, volume.downwardAPI.items, volume.downwardAPI.defaultMode ?? 0o644, settings);
  } else if (volume.projected) {
    for (const source of volume.projected.sources ?? []) {
      await addProjection(files, pod, source, volume.projected.defaultMode ?? 0o644, settings);
    }
  } else {
    throw new WaitingError('ContainerCreating', `volume "${volume.name}" is of a kind that a process node lacks`);
  }
  return files;
}

type Files = Map<string, { data: Uint8Array; mode: number }>;

async function addProjection(
  files: Files,
  pod: Pod,
  source: Projection,
  mode: number,
  settings: VolumeSettings,
): Promise<void> {
  if (source.configMap) await addData(files, 'configmaps', source.configMap, mode, settings);
  if (source.secret) await addData(files, 'secrets', source.secret, mode, settings);
  if (source.downwardAPI) addDownward(files, pod, source.downwardAPI.items, mode, settings);
  if (source.serviceAccountToken) {
    const { path, audience, expirationSeconds = 3600 } = source.serviceAccountToken;
    const token = await settings.tokens.token(pod, audience, expirationSeconds);
    files.set(path, { data: Buffer.from(token), mode });
  }
}

async function addData(
  files: Files,
  kind: DataKind,
  source: { name: string; items?: KeyToPath[]; optional?: boolean },
  mode: number,
  settings: VolumeSettings,
): Promise<void> {
  const object = await settings.read(kind, source.name);
  const what = `${kind === 'secrets' ? 'secret' : 'configmap'} "${source.name}"`;
  if (!object) {
    if (source.optional) return;
    throw new WaitingError('ContainerCreating', `MountVolume.SetUp failed: ${what} not found`);
  }
  const data = new Map<string, Uint8Array>();
  const encoding = kind === 'secrets' ? 'base64' : 'utf8';
  for (const [key, value] of Object.entries(object.data ?? {})) data.set(key, Buffer.from(value, encoding));
  for (const [key, value] of Object.entries(object.binaryData ?? {})) data.set(key, Buffer.from(value, 'base64'));
  if (!source.items) {
    for (const [key, bytes] of data) files.set(key, { data: bytes, mode });
    return;
  }
  for (const item of source.items) {
    const bytes = data.get(item.key);
    if (bytes) files.set(item.path, { data: bytes, mode: item.mode ?? mode });
    else if (!source.optional) {
      throw new WaitingError('ContainerCreating', `MountVolume.SetUp failed: ${what} has no key "${item.key}"`);
    }
  }
}

function addDownward(
  files: Files,
  pod: Pod,
  items: readonly DownwardItem[] | undefined,
  mode: number,
  settings: VolumeSettings,
): void {
  for (const item of items ?? []) {
    const text = item.fieldRef
      ? fieldValue(pod, settings.addresses, item.fieldRef)
      : item.resourceFieldRef
        ? resourceValue(pod, undefined, item.resourceFieldRef)
        : '';
    files.set(item.path, { data: Buffer.from(text), mode: item.mode ?? mode });
  }
}
