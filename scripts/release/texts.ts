/** Texts that describe a release. Pure. */

/**
 * The notes of a version: its section of CHANGELOG.md, or the section `Unreleased` if the version has none yet.
 * Errors: throws if the changelog has neither.
 */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const named = (name: string): string | undefined =>
    sections.find((section) => section.split('\n', 1)[0]!.trim().replace(/[[\]]/g, '').split(' ')[0] === name);
  const section = named(version) ?? named('Unreleased');
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "${version}" and none "Unreleased"`);
  return `# ${version}\n\n${section.slice(section.indexOf('\n')).trim()}\n`;
}

/** The platforms of the plugin's archive, as krew names them. */
export const pluginPlatforms = ['linux', 'darwin'].flatMap((os) => ['amd64', 'arm64'].map((arch) => ({ os, arch })));

/**
 * The manifest by which krew installs the plugin. One archive serves every platform: it contains no machine code.
 * `url` is the address of the folder that the release is published in.
 */
export function krewManifest(release: { version: string; url: string; file: string; sha256: string }): object {
  const { version, url, file, sha256 } = release;
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'svc' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Traffic of every workload, asked of all nodes',
      description:
        'Requests, errors, latency and network flows of the workloads of a cluster: status, top, query, observe, explain and diff.',
      caveats: 'Needs Node 24 or newer on the PATH.',
      platforms: pluginPlatforms.map(({ os, arch }) => ({
        selector: { matchLabels: { os, arch } },
        uri: `${url.replace(/\/$/, '')}/${file}`,
        sha256,
        bin: 'kubectl-svc',
      })),
    },
  };
}

/** The script that starts a program of the plugin. It also works through a symbolic link, such as krew makes. */
export function pluginLauncher(entry: string): string {
  return `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 24 ? 0 : 1)' 2>/dev/null; then
  echo "kubectl svc needs Node 24 or newer on the PATH: https://nodejs.org" >&2
  exit 1
fi
exec node "$here/dist/kubectl-svc/${entry}.js" "$@"
`;
}
