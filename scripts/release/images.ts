import type { BuildIdentity } from '../build/identity.ts';

/** Programs that can build the images of the Dockerfile, in order of preference. */
export const builders = ['docker', 'podman', 'buildah'] as const;
export type Builder = (typeof builders)[number];

/** Target of the Dockerfile → name of its image. */
export const images = { svc: 'svc-operator', minter: 'svc-minter' } as const;
export type ImageTarget = keyof typeof images;

export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

export interface ImageOptions {
  readonly target: ImageTarget;
  readonly architecture: Architecture;
  readonly version: string;
  readonly identity: BuildIdentity;
  /** Architecture of the machine that builds. */
  readonly machine: Architecture;
  /** The OCI archive to write. */
  readonly file: string;
  /** Further build arguments, `NAME=value`, such as other base images where the public ones are out of reach. */
  readonly buildArgs?: readonly string[];
}

/** The file of an image's OCI archive. */
export function archiveName({
  target,
  version,
  architecture,
}: Pick<ImageOptions, 'target' | 'architecture' | 'version'>): string {
  return `${images[target]}-${version}-linux-${architecture}.oci.tar`;
}

/**
 * The commands that build one image and write it as an OCI archive, in order. Every timestamp in the archive is the
 * commit's, so that the same sources on the same bases give the same digest. Pure.
 */
export function imageCommands(builder: Builder, options: ImageOptions): string[][] {
  const { target, architecture, version, identity, machine, file, buildArgs = [] } = options;
  const epoch = identity.date === 'unknown' ? '0' : String(Date.parse(identity.date) / 1000);
  const args = [
    `VERSION=${version}`,
    `COMMIT=${identity.commit}`,
    `CREATED=${identity.date}`,
    `SOURCE_DATE_EPOCH=${epoch}`,
    ...buildArgs,
  ].flatMap((arg) => ['--build-arg', arg]);
  const what = ['--target', target, '--platform', `linux/${architecture}`, ...args];
  const short = `${images[target]}:${version}`;
  // containerd resolves the manifests' short names to these, and imports an archive under the name that is in it.
  const name = `docker.io/library/${short}`;
  if (builder === 'docker') {
    // Provenance would record the time of the build, which differs from build to build.
    const output = `type=oci,dest=${file},name=${name},rewrite-timestamp=true`;
    return [['docker', 'buildx', 'build', ...what, '--provenance=false', '--output', output, '.']];
  }
  const local = `localhost/${short}-${architecture}`;
  const isolation = builder === 'buildah' ? ['--isolation', 'chroot'] : [];
  // Old versions of podman and buildah leave BUILDPLATFORM unset, and run build stages in the image's architecture.
  const here = ['--build-arg', `BUILDPLATFORM=linux/${machine}`];
  const format = ['--format', 'oci', '--timestamp', epoch];
  const build = [builder, 'build', ...what, ...here, ...isolation, ...format, '--tag', local, '.'];
  return [build, [builder, 'push', local, `oci-archive:${file}:${name}`]];
}
