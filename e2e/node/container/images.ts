import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtPrograms } from '../../cluster/own-programs.ts';
import { WaitingError } from '../types.ts';
import type { Container } from '../types.ts';

/** The stand-in for a container image on a process node, whose containers are processes: a program on this machine. */
export interface Image {
  /** Program and first arguments, absolute paths. */
  entrypoint: readonly string[];
  /**
   * The image's own environment; the container's wins. In values, `{nodeName}`, `{nodeIP}`, `{podIP}`, `{loopback}`
   * (what the pod sees as 127.0.0.1) and `{socketSuffix}` (appended to its abstract socket names) are filled in.
   */
  env?: Readonly<Record<string, string>>;
}

/** Image name without registry, path and digest → program. With a tag, the entry holds for that tag only. */
export type ImageTable = Readonly<Record<string, Image>>;

/** Port on the node's address where the instrument's stand-in receives OTLP over HTTP from the demo's services. */
export const instrumentReceiverPort = 4318;

/** This project's own images: the bundles in the real images, built beforehand, and run by the Node.js of this test. */
export function ownImages(): ImageTable {
  const standIn = [
    process.execPath,
    fileURLToPath(new URL('../../../src/testing/instrument/main.ts', import.meta.url)),
  ];
  return {
    // No kernel check: the stand-in of the instrument uses nothing of the kernel.
    'svc-operator': { entrypoint: [process.execPath, builtPrograms.svc], env: { SVC_KERNEL_CHECK: 'false' } },
    'svc-minter': { entrypoint: [process.execPath, builtPrograms.minter] },
    'ebpf-instrument': {
      entrypoint: standIn,
      env: {
        // The container's first process is the supervisor, from a volume. It runs this command as the instrument.
        SVC_INSTRUMENT_COMMAND: JSON.stringify(standIn),
        STANDIN_LISTEN: `{nodeIP}:${instrumentReceiverPort}`,
        STANDIN_LOOPBACK: '{loopback}',
        STANDIN_SOCKET_SUFFIX: '{socketSuffix}',
        NODE_NAME: '{nodeName}',
      },
    },
  };
}

/** `registry:5000/team/name:tag@sha256:…` → `name`. */
export function imageName(reference: string): string {
  return taggedName(reference).split(':')[0] ?? '';
}

/** `registry:5000/team/name:tag@sha256:…` → `name:tag`. */
function taggedName(reference: string): string {
  return (reference.split('@')[0] ?? '').split('/').at(-1) ?? '';
}

/**
 * The image of a reference.
 * Errors: `WaitingError` ErrImagePull for any image that is not in the table.
 */
export function findImage(images: ImageTable, reference: string): Image {
  const image = images[taggedName(reference)] ?? images[imageName(reference)];
  if (image) return image;
  throw new WaitingError(
    'ErrImagePull',
    `ImageUnsupported: a process node runs no image but ${Object.keys(images).sort().join(', ')}; "${reference}" is not one of them`,
  );
}

/**
 * Program and arguments of a container, before any rewriting: `command` replaces the entry point, `args` follows it.
 * Shape: `podDir` is where the pod's volumes are: what an init step put there can be run.
 * Errors: `WaitingError` RunContainerError when `command` names a program that our images do not have.
 */
export function commandLine(image: Image, container: Container, podDir: string): string[] {
  const { command = [], args = [] } = container;
  if (command[0]?.startsWith(`${podDir}/`)) return [...command, ...args];
  return [...resolveProgram(image, container.image, command), ...args];
}

/** A command inside an image, which has two programs: `node`, and the entry point under the image's name or `svc`. */
export function resolveProgram(image: Image, reference: string, command: readonly string[]): string[] {
  const [program, ...rest] = command;
  if (program === undefined) return [...image.entrypoint];
  if (basename(program) === 'node') return [process.execPath, ...rest];
  const own = imageName(reference);
  if (basename(program) === own || basename(program) === own.replace(/^svc-/, '') || program === 'svc') {
    return [...image.entrypoint, ...rest];
  }
  throw new WaitingError('RunContainerError', `exec: "${program}": not in the image ${reference}`);
}
