/** What is different for a process on this machine than for one in a container. */
export interface Surroundings {
  /** Mount path inside the container → folder or file on this machine. */
  mounts: readonly { mountPath: string; target: string }[];
  podIP: string;
  /** The loopback address that stands for the pod's own 127.0.0.1. */
  loopback: string;
  /** Appended to abstract socket names, which are shared by the whole machine. */
  socketSuffix: string;
}

/**
 * Rewrites arguments and environment values, so that a process sees what the container would have seen:
 * mount paths → folders, `0.0.0.0` and `::` → the pod's address, `127.0.0.1` → the pod's loopback, `@svc-obi-health` →
 * the pod's own socket.
 * Shape: pure. One pass: a replacement is never rewritten again.
 * Caveats: a path, address or socket that is built inside the process, or read from a file, stays as it is.
 * `localhost` stays too: it is the way to reach something on the machine itself.
 */
export function createRewriter(around: Surroundings): (text: string) => string {
  const mounts = around.mounts
    .map((m) => ({ ...m, mountPath: m.mountPath.replace(/\/+$/, '') }))
    .filter((m) => m.mountPath !== '')
    .sort((a, b) => b.mountPath.length - a.mountPath.length);
  const targets = new Map(mounts.map((m) => [m.mountPath, m.target]));
  const paths = mounts.map((m) => m.mountPath.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  // A mount path must not continue another path or word. It ends at a slash, or at a character that ends a path.
  const path = paths === '' ? '(?!)' : `(?:(?<![\\w./-])|(?<=file://))(?:${paths})(?=/|$|[^\\w.-])`;
  const pattern = new RegExp(
    `(?<path>${path})|(?<any>(?<![\\d.])0\\.0\\.0\\.0(?![\\d.])|(?<![^\\s=])::(?!\\S))|(?<![\\d.])(?<own>127\\.0\\.0\\.1)(?![\\d.])|(?<socket>@svc-obi-health)(?![\\w-])`,
    'g',
  );
  return (text) =>
    text.replaceAll(pattern, (match: string, ...rest: unknown[]) => {
      const groups = rest.at(-1) as Record<string, string | undefined>;
      if (groups['path'] !== undefined) return targets.get(match) ?? match;
      if (groups['any'] !== undefined) return around.podIP;
      if (groups['own'] !== undefined) return around.loopback;
      return `${match}${around.socketSuffix}`;
    });
}
