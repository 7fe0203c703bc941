import type { Archive } from './download.ts';

/** A program of a control plane. */
export type BinaryName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubectl';

/** A published archive, and the paths in it of the programs that we use. */
export interface ReleaseArchive extends Archive {
  /** Program → path of its member. */
  readonly members: Readonly<Partial<Record<BinaryName, string>>>;
}

/**
 * The published programs of one Kubernetes version, by `process.arch`. They are published only for Linux.
 *
 * Every SHA-512 is copied from its publisher's own list: `CHANGELOG/CHANGELOG-1.36.md` of kubernetes/kubernetes for the
 * server archives, `envtest-releases.yaml` of kubernetes-sigs/controller-tools for the archives that bring etcd v3.6.8.
 * For another version, copy every SHA-512 again from these two lists. A version whose list cannot be read must not be
 * added.
 */
export interface Release {
  readonly version: string;
  readonly archives: Readonly<Partial<Record<string, readonly ReleaseArchive[]>>>;
}

const version = 'v1.36.0';
const envtest = 'envtest-v1.36.2';

function archivesOf(arch: string, sha512: { server: string; envtest: string }): ReleaseArchive[] {
  const member = (name: string): string => `kubernetes/server/bin/${name}`;
  return [
    {
      name: `kubernetes-server-linux-${arch}.tar.gz`,
      url: `https://dl.k8s.io/${version}/kubernetes-server-linux-${arch}.tar.gz`,
      sha512: sha512.server,
      maxBytes: 1024 * 1024 * 1024,
      members: {
        'kube-apiserver': member('kube-apiserver'),
        'kube-controller-manager': member('kube-controller-manager'),
        'kube-scheduler': member('kube-scheduler'),
        kubectl: member('kubectl'),
      },
    },
    {
      name: `${envtest}-linux-${arch}.tar.gz`,
      url: `https://github.com/kubernetes-sigs/controller-tools/releases/download/${envtest}/${envtest}-linux-${arch}.tar.gz`,
      sha512: sha512.envtest,
      maxBytes: 256 * 1024 * 1024,
      members: { etcd: 'controller-tools/envtest/etcd' },
    },
  ];
}

export const release: Release = {
  version,
  archives: {
    x64: archivesOf('amd64', {
      server:
        '1c64da92575451c2c7ff97c79b772e603995f8e76da1371a6b0746aaa27b65dce81c4d734cbb50f40e71486a8e08df36f14e12974f97d4d29e41f23a172a6a25',
      envtest:
        'ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08',
    }),
    arm64: archivesOf('arm64', {
      server:
        '7f95e451baedd9368a2fa637afa84c9ed1b958736540ca27a379e5e292e1a10c5d9a29539f833047574bf5d3b6f907f32dee5735acecc11aa4686f078108dcf8',
      envtest:
        '2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac',
    }),
  },
};
